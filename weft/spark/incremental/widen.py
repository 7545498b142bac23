"""Widening (002, horizontal expansion): slices with more columns, out of kept ones and what these lack alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from weft.aggregates.component import merging
from weft.model.stages import PartialStage
from weft.spark.incremental.slice_cache import cached_name, caching_stage, group_names, merge_slices

OTHER = "__weft_other_{}"


def split_columns(stage: PartialStage, kept: Sequence[str]) -> tuple[PartialStage, PartialStage] | None:
    """The stage of the columns that are kept and that of those that lack, as a cache names them; None where nothing is
    shared, or where Spark cannot merge what is kept: slices are joined one by one."""
    wanted = tuple(dict.fromkeys(column.sql for column in stage.columns))
    have, lack = [sql for sql in wanted if sql in kept], [sql for sql in wanted if sql not in kept]
    merges, old = merging(stage.components), caching_stage(stage, have)
    if not have or merges is None:
        return None
    there = set(old.place)
    whole = all(plain in merges and all((read, number) in there for read in merges[plain][1])
                for plain, number in there)
    return (old, caching_stage(stage, lack)) if whole else None


def widen(old: DataFrame, kept: PartialStage, new: DataFrame, lacking: PartialStage,
          columns: Sequence[str]) -> DataFrame:
    """Slices of all columns, out of those that are kept, several of a key and start or not, and those that lack."""
    groups = group_names(kept)
    names = {cached_name(sql) for sql in (column.sql for column in lacking.columns)}
    merged = merge_slices(old, kept)
    other = new.select(*(F.col(name).alias(OTHER.format(name)) for name in groups), *names)
    same = reduce(and_, (F.col(name).eqNullSafe(F.col(OTHER.format(name))) for name in groups))
    return merged.join(other, same).select(*groups, *map(cached_name, columns))
