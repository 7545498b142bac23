"""Drop boxes: the rows of a source with a weight, by a hash that says the same of a row whenever it is read.

A Parquet file's rows are known by file and row number, a topic's by partition and offset, all others by what is in
them: then equal rows share their fate. Nothing is drawn at random, so a trigger that is repeated keeps the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from weft.aggregates.joined import SIGNS
from weft.aggregates.weighted import SAMPLED, WEIGHT
from weft.cost.shedding.sampling import LOWEST, Sampling
from weft.errors import SourceError
from weft.io.arrivals import CORRUPT, OWN, ROW, quoted
from weft.io.row_source import RowSource


@dataclass(frozen=True)
class Step:
    """From a moment on, in milliseconds since the epoch, a share of the rows is kept."""

    since: int
    share: float


@dataclass(frozen=True)
class DropBox:
    """The shares that are kept, in the order of time; a batch run has one only.

    A box of a join's input is `joined` under a number, by which inputs of one source keep rows of their own; where it
    decides `by` a key, all inputs keep the same ones.
    """

    steps: tuple[Step, ...]
    joined: int | None = None
    by: str | None = None

    @property
    def share(self) -> float:
        """The share that is kept now."""
        return self.steps[-1].share


def drop_box(share: float) -> DropBox:
    """A box that keeps a share of all rows."""
    return DropBox((Step(0, share),))


def weigh_rows(rows: DataFrame, box: DropBox) -> DataFrame:
    """All rows that bear a ROW, with WEIGHT, 0 for those to drop, and SAMPLED in its place."""
    own = [quoted(name) for name in rows.columns if name != ROW]
    signs = [] if box.joined is None else [F.xxhash64(F.col(ROW), F.lit(SIGNS)).alias(SIGNS)]
    return rows.select(*own, F.expr(by_time(box.steps, weight_sql)).alias(WEIGHT),
                       F.expr(by_time(box.steps, sampled_sql)).alias(SAMPLED), *signs)


def by_time(steps: Sequence[Step], sql_of: Callable[[float], str]) -> str:
    """Spark SQL of what holds at the time of a trigger, which its repetition has again."""
    later = "".join(f"WHEN current_timestamp() >= timestamp_millis({step.since}L) THEN {sql_of(step.share)} "
                    for step in reversed(steps[1:]))
    first = sql_of(steps[0].share)
    return f"CASE {later}ELSE {first} END" if later else first


def weight_sql(share: float) -> str:
    """Spark SQL for the weight of a row: neighbouring integers, so that all rows weigh 1 on average."""
    if share >= 1:
        return "1L"
    box = Sampling(share)
    light, kept = box.thresholds
    lighter = f"WHEN {ROW} < {light}L THEN {box.weight - 1}L " if light > LOWEST else ""
    return f"CASE {lighter}WHEN {ROW} < {kept}L THEN {box.weight}L ELSE 0L END"


def sampled_sql(share: float) -> str:
    """Spark SQL for whether a row might have been dropped."""
    return "true" if share < 1 else "false"


def hash_units(rows: DataFrame, origin: object, box: DropBox) -> DataFrame:
    """The rows of a source with ROW, by which a drop box keeps them: each for itself, or by a key."""
    if box.by is not None:
        return rows.drop(ROW).select("*", F.xxhash64(F.expr(box.by)).alias(ROW))
    found = hash_rows(rows, origin)
    return found.withColumn(ROW, F.xxhash64(ROW, F.lit(box.joined))) if box.joined else found


def hash_rows(rows: DataFrame, origin: object) -> DataFrame:
    """The rows of a source with ROW."""
    known = origin.row_number() if isinstance(origin, RowSource) else ()
    if known and "_metadata" not in rows.columns:
        return rows.select("*", F.xxhash64(*known).alias(ROW))
    if ROW in rows.columns:
        return rows
    own = (field for field in rows.schema.fields if not field.name.startswith(OWN))
    columns = [field.name for field in own if hashable(field.dataType)]
    if not columns:
        raise SourceError("rows are dropped by a hash of their columns, and Spark hashes none of these: add a column "
                          "that is no map.")
    raw = [F.col(CORRUPT)] if CORRUPT in rows.columns else []
    return rows.select("*", F.xxhash64(*(F.col(quoted(name)) for name in columns), *raw).alias(ROW))


def hashable(kind: DataType) -> bool:
    """Whether Spark hashes values of a type: maps it does not."""
    if isinstance(kind, ArrayType):
        return hashable(kind.elementType)
    if isinstance(kind, StructType):
        return all(hashable(field.dataType) for field in kind.fields)
    return not isinstance(kind, MapType) and kind.typeName() != "variant"
