"""Kept slices as a run finds them, and what is to be done to bring them up to date."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from weft.catalog.slice_caches import File, Generation, SliceCache
from weft.model.graph import Node
from weft.model.stages import PartialStage
from weft.spark.incremental.slice_cache import read_slices, select_slices, size_of

# A derived cache says what it was made of as if that were a file: the other cache's epoch, and as its size the version.
EPOCH = "slices:"


@dataclass(frozen=True)
class KeptSlices:
    """The slices of a node up to date: the cache where they lie, in folders below `home`, with columns as `schema`
    says; `meaning` is all that decides them."""

    stage: PartialStage
    meaning: str
    cache: SliceCache
    home: Path
    schema: StructType

    @property
    def folders(self) -> list[Path]:
        """The folders of its generations."""
        return [self.home / name for name in self.cache.ids]

    @property
    def mark(self) -> File:
        """What a cache that is made of all of these slices puts down."""
        return File(EPOCH + self.cache.epoch, self.cache.version, 0)

    def read(self, spark: SparkSession, generations: Sequence[Generation] | None = None) -> DataFrame:
        """All slices, or those of some generations, as the stage gives them."""
        chosen = self.cache.generations if generations is None else generations
        return select_slices(read_slices(spark, [self.home / g.id for g in chosen], self.schema), self.stage)


@dataclass(frozen=True)
class Filling:
    """What brings a cache up to date: slices that `make` gives, in addition or `anew` instead of all, for a reason; of
    `files`, which it then covers. Nothing is to be done where there are none. `widened` are the columns that are read
    where others of a new cache come from one that has them."""

    node: Node[PartialStage]
    stage: PartialStage
    meaning: str
    cache: SliceCache
    files: Sequence[File]
    anew: str
    make: Callable[[], DataFrame]
    widened: tuple[str, ...] = ()

    @property
    def wider(self) -> bool:
        """Whether the cache has more columns than are asked for."""
        return len(self.cache.columns) > len({column.sql for column in self.node.stage.columns})


def is_damaged(cache: SliceCache, home: Path) -> bool:
    """Whether files of a cache were removed or cut."""
    return any(size_of(home / g.id) != g.bytes for g in cache.generations)


def why_derived_anew(cache: SliceCache, have: Sequence[File], parent: KeptSlices) -> str:
    """Why nothing that is kept of a derived grouping can be used; empty where it can."""
    if not cache.generations:
        return "nothing is kept of this grouping yet"
    if {file.path for file in have} != {parent.mark.path}:
        return "what it is derived from was made anew"
    version = max(file.size for file in have)
    if version > parent.cache.version or any(g.first <= version < g.last for g in parent.cache.generations):
        return "what it is derived from was joined meanwhile"
    return "what was kept of this grouping is damaged" if is_damaged(cache, parent.home) else ""


def generations_after(cache: SliceCache, version: int) -> list[Generation]:
    """What was added after a version."""
    return [generation for generation in cache.generations if generation.first > version]


def join_last(generations: Sequence[Generation], most: int) -> int:
    """How many of the last generations should be made one, 0 where none: no old one that is much larger is written
    again for the sake of a few slices, so each slice is written again a few times in all."""
    if len(generations) <= most:
        return 0
    count, size = 1, generations[-1].bytes
    while count < len(generations) and generations[-count - 1].bytes <= 2 * size:
        count, size = count + 1, size + generations[-count - 1].bytes
    return count if count > 1 else 0
