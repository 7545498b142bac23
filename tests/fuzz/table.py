"""Random tables: every type Weft aggregates, nulls, NaN, infinities, old times, gaps, skewed keys, times on the edge.

Reals are multiples of small powers of two, so that their sums are exact in any order and every difference is a bug.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType, _parse_datatype_string

from tests.fuzz.case import Case, Shape

COLUMNS = {
    "ts": "timestamp_ltz", "nt": "timestamp_ntz", "k": "string", "g": "int", "h": "double", "m": "decimal(10,2)",
    "b": "boolean", "t": "tinyint", "sh": "smallint", "i": "int", "n": "bigint", "big": "bigint", "f": "float",
    "x": "double", "d": "decimal(12,3)", "w": "decimal(38,6)", "e": "decimal(38,10)", "s": "string", "day": "date",
    "at": "timestamp_ltz", "bin": "binary", "addr": "struct<city:string,zip:int>", "tags": "array<string>",
}
EPOCH = datetime(1970, 1, 1)
WORDS = ("", "a", "b", "zz", "Zürich", "日本", "a longer text with spaces", "A", "it's", "5", "k0")
ODD = (float("nan"), float("inf"), -float("inf"), 0.0, -0.0)


def rows_of(shape: Shape) -> list[dict[str, Any]]:
    """The rows of a table of that shape, the same ones every time, by the roles of their columns."""
    rng = random.Random(shape.seed)
    rows = [row(shape, rng) for _ in range(shape.rows)]
    return rows if shape.chosen is None else [rows[i] for i in shape.chosen]


def row(shape: Shape, rng: random.Random) -> dict[str, Any]:
    """One row."""
    when = moment(shape, rng)
    values = dict(zip(list(COLUMNS)[2:], drawn(shape, rng), strict=True))
    values = {role: None if rng.random() < shape.nulls else value for role, value in values.items()}
    when_or_none = None if rng.random() < shape.nulls / 5 else when
    return {"ts": when_or_none and when_or_none.replace(tzinfo=UTC), "nt": when_or_none, **values}


def drawn(shape: Shape, rng: random.Random) -> Iterator[Any]:
    """The values of all columns but the times of the event."""
    yield f"k{skewed(shape, rng)}"
    yield skewed(shape, rng)
    yield rng.choice([0.0, -0.0, 1.5, float("nan")])
    yield Decimal(rng.randint(-3, 3)).scaleb(-2)
    yield rng.random() < 0.5
    yield rng.randint(-128, 127)
    yield rng.randint(-(2**15), 2**15 - 1)
    yield rng.randint(-(2**31), 2**31 - 1)
    yield rng.randint(-(10**9), 10**9)
    yield rng.choice([2**63 - 1, 2**62, 2**53 + 1, rng.randint(0, 2**63 - 1)])
    yield real(shape, rng, 8.0)
    yield real(shape, rng, 1024.0)
    yield Decimal(rng.randint(-(10**11), 10**11)).scaleb(-3)
    yield Decimal(rng.randint(-(2**62), 2**62) * 10**10).scaleb(-6)
    yield Decimal(rng.randint(-(2**62), 2**62)).scaleb(-10)
    yield rng.choice(WORDS)
    yield date(2020, 1, 1) + timedelta(days=rng.randint(-20000, 20000))
    yield moment(shape, rng).replace(tzinfo=UTC)
    yield bytes(rng.choices(range(256), k=rng.randint(0, 3)))
    yield (rng.choice(WORDS), rng.randint(0, 3))
    yield [rng.choice(WORDS)] * rng.randint(0, 2)


def moment(shape: Shape, rng: random.Random) -> datetime:
    """A time within the span, sometimes far away, often on a full second, which is where edges lie."""
    micros = rng.randint(0, shape.span * 1_000_000)
    if rng.random() < 0.4:
        micros -= micros % 1_000_000
    if shape.gap and rng.random() < 0.3:
        micros += 50 * shape.span * 1_000_000
    return EPOCH + timedelta(seconds=shape.origin, microseconds=micros)


def skewed(shape: Shape, rng: random.Random) -> int:
    """A key: half of all rows share one."""
    return 0 if rng.random() < 0.5 else rng.randrange(shape.keys)


def real(shape: Shape, rng: random.Random, scale: float) -> float:
    """A multiple of 1/64 of about a size, now and then a special number, a large or a small one."""
    if rng.random() < shape.odd:
        return rng.choice([*ODD, scale * 2**20, scale / 2**10])
    return round(rng.gauss(5 * scale, scale) * 64) / 64


def schema_of(case: Case) -> StructType:
    """The columns of a case's table under their names."""
    return StructType([StructField(case.names.get(role, role), type_of(case, role, text))
                       for role, text in COLUMNS.items()])


def type_of(case: Case, role: str, text: str) -> Any:
    """The type of a column, a struct's fields under their names."""
    found = _parse_datatype_string(text)
    if role != "addr":
        return found
    return StructType([StructField(case.names.get(f"addr.{f.name}", f.name), f.dataType) for f in found.fields])


def frame_of(spark: SparkSession, case: Case, rows: list[dict[str, Any]]) -> DataFrame:
    """Rows as a DataFrame."""
    schema = schema_of(case)
    return spark.createDataFrame([tuple(row.values()) for row in rows], schema, verifySchema=False)
