"""Widening (002, horizontal expansion): slices with more columns, out of kept ones and what these lack alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import and_

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from weft.aggregates.component import columns_of
from weft.model.stages import PartialStage
from weft.spark.incremental.slice_cache import cached_name, caching_stage, group_names, merge_slices

OTHER = "__weft_other_{}"


def split_columns(stage: PartialStage, kept: Sequence[str]) -> tuple[PartialStage, PartialStage] | None:
    """The stage of the columns that are kept and that of those that lack, as a cache names them; None where nothing
    that Spark can merge is kept: slices are joined one by one."""
    gone = {column.plain for column in stage.columns if column.sql not in kept}
    components = tuple(c for c in stage.components if c.merges is not None and not gone & set(c.columns))
    known = set(columns_of(components))
    have = [column.sql for column in stage.columns if column.plain in known]
    lack = [column.sql for column in stage.columns if column.plain not in known]
    if not have or not lack:
        return None
    old, new = (caching_stage(stage, tuple(dict.fromkeys(texts))) for texts in (have, lack))
    return replace(old, components=components), new


def widen(old: DataFrame, kept: PartialStage, new: DataFrame, lacking: PartialStage,
          columns: Sequence[str]) -> DataFrame:
    """Slices of all columns, out of those that are kept, several of a key and start or not, and those that lack."""
    groups = group_names(kept)
    names = {cached_name(sql) for sql in (column.sql for column in lacking.columns)}
    merged = merge_slices(old, kept)
    other = new.select(*(F.col(name).alias(OTHER.format(name)) for name in groups), *names)
    same = reduce(and_, (F.col(name).eqNullSafe(F.col(OTHER.format(name))) for name in groups))
    return merged.join(other, same).select(*groups, *map(cached_name, columns))
