"""Statistics: how many rows, keys and slices a grouping of a source has, and how that is known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from weft.catalog.clock import now
from weft.catalog.database import Catalog
from weft.catalog.expressions import set_texts
from weft.model.statistics import Statistics


class Origin(StrEnum):
    """How a size is known: from a sample, by counting the source, or from the slices that a run made."""

    SAMPLE = "sample"
    MEASURED = "measured"
    RUN = "run"


@dataclass(frozen=True)
class MeasuredGrouping:
    """Rows of a source that pass a predicate, by time and keys, in ids of the catalog."""

    source: str
    predicate: int | None
    time: int
    expression_set: int


@dataclass(frozen=True)
class Sizes:
    """What is known of a grouping; None is not known. The span is in microseconds."""

    rows: float | None = None
    keys: float | None = None
    span: float | None = None
    slices: float | None = None


@dataclass(frozen=True)
class StoredSizes:
    """The sizes of a grouping in texts, how they are known, if by a run then of which node's slices, since when."""

    source: str
    predicate: str | None
    time: str
    keys: tuple[str, ...]
    origin: Origin
    node: int | None
    sizes: Sizes
    taken: str


# Rows of the grouping asked for; `predicate` may be null.
OF = "source = ? AND predicate IS ? AND time = ? AND expression_set = ?"


def keep_sizes(catalog: Catalog, grouping: MeasuredGrouping, origin: Origin, sizes: Sizes,
               node: int | None = None) -> None:
    """Put down the sizes of a grouping instead of those known in the same way."""
    values = (grouping.source, grouping.predicate, grouping.time, grouping.expression_set, origin.value, node)
    with catalog.changing():
        catalog.change(f"DELETE FROM statistics WHERE {OF} AND origin = ? AND node IS ?", values)
        catalog.change(
            """INSERT INTO statistics
               (source, predicate, time, expression_set, origin, node, rows, keys, span, slices, taken)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (*values, sizes.rows, sizes.keys, sizes.span, sizes.slices, now()))


def sizes_of(catalog: Catalog, grouping: MeasuredGrouping) -> Sizes:
    """The best that is known: what was counted before what was sampled, and of that the newest."""
    sql = f"""SELECT rows, keys, span, slices FROM statistics WHERE {OF}
              ORDER BY origin = '{Origin.SAMPLE}', taken DESC, id DESC"""
    found = catalog.rows(sql, (grouping.source, grouping.predicate, grouping.time, grouping.expression_set))
    columns = zip(*found, strict=True) if found else ()
    return Sizes(*(next((value for value in column if value is not None), None) for column in columns))


def to_whole(sizes: Sizes) -> Statistics | None:
    """The sizes as plans estimate with them, if all of them are known."""
    if sizes.rows is None or sizes.keys is None or sizes.span is None:
        return None
    return Statistics(max(sizes.rows, 1.0), max(sizes.keys, 1.0), max(sizes.span, 1.0))


def statistics(catalog: Catalog) -> list[StoredSizes]:
    """All sizes, by source, predicate and keys."""
    texts, sets = dict(catalog.rows("SELECT id, text FROM expressions")), set_texts(catalog)
    sql = """SELECT source, predicate, time, expression_set, origin, node, rows, keys, span, slices, taken
             FROM statistics ORDER BY source, predicate, expression_set, taken, id"""
    return [StoredSizes(source, texts.get(predicate), texts[time], sets[keys], Origin(origin), node, Sizes(*sizes),
                        taken)
            for source, predicate, time, keys, origin, node, *sizes, taken in catalog.rows(sql)]
