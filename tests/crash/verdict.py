"""The verdict: the files that a killed stream wrote against the rows of a batch run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import isclose
from pathlib import Path

import pyarrow.parquet as pq

from tests.crash.queries import FOLDED, KEYS, UNTIL
from weft.spark.write.owned import MARK

ROUNDING = 1e-9
Rows = dict[tuple, list[tuple]]


@dataclass(frozen=True)
class Compared:
    """How the answers of one query compare, in rows."""

    query: str
    rows: int
    missing: int
    doubled: int
    unexpected: int
    different: int

    @property
    def ok(self) -> bool:
        """Whether every answer is there once and right."""
        return self.rows > 0 and not (self.missing or self.doubled or self.unexpected or self.different)

    def to_dict(self) -> dict:
        """The comparison as plain values."""
        return {"ok": self.ok, **asdict(self)}


def compare_all(folder: Path, watermark: float) -> tuple[Compared, ...]:
    """Every query's files against the batch run, for windows that end no later than the watermark."""
    closed = datetime.fromtimestamp(watermark, UTC).replace(tzinfo=None)
    return tuple(compare(name, rows_of(folder / "out" / name),
                         {key: rows for key, rows in rows_of(folder / "expected" / name).items() if key[-1] <= closed})
                 for name in FOLDED)


def compare(query: str, found: Rows, expected: Rows) -> Compared:
    """The answers of one query against what they should be."""
    both = found.keys() & expected.keys()
    return Compared(
        query,
        rows=sum(map(len, expected.values())),
        missing=len(expected.keys() - found.keys()),
        doubled=sum(len(rows) - 1 for rows in found.values()),
        unexpected=len(found.keys() - expected.keys()),
        different=sum(not all(alike(row, expected[key][0]) for row in found[key]) for key in both),
    )


def alike(found: Sequence, expected: Sequence) -> bool:
    """Whether two rows agree: reals within rounding, all else exactly."""
    return all(isclose(a, b, rel_tol=ROUNDING, abs_tol=ROUNDING) if isinstance(a, float) and isinstance(b, float)
               else a == b for a, b in zip(found, expected, strict=True))


def rows_of(folder: Path) -> Rows:
    """The rows of a folder's files, by what names an answer; its end comes last."""
    found: Rows = {}
    for path in sorted(folder.glob("*.parquet")):
        for row in pq.ParquetFile(path, coerce_int96_timestamp_unit="us").read().to_pylist():
            key = (*(row[name] for name in KEYS if name in row and name != UNTIL), row[UNTIL].replace(tzinfo=None))
            found.setdefault(key, []).append(tuple(value for name, value in row.items() if name not in KEYS))
    return found


def leftovers(folder: Path) -> tuple[str, ...]:
    """What lies among the answers and is none."""
    return tuple(sorted(strays(folder / "out")))


def strays(out: Path) -> Iterator[str]:
    """Names in a sink that are neither a query's folder, nor its trigger's files, nor marks of the stream."""
    for path in out.iterdir():
        if path.name not in FOLDED and path.name != "_weft_stream.json":
            yield path.name
    for path in out.glob("*/*"):
        if path.parent.name in FOLDED and not path.name.startswith(("trigger-", "schema.", MARK)):
            yield f"{path.parent.name}/{path.name}"
