"""Sizes seen on the way: how many rows, keys and slices a run makes, counted in the jobs that run anyway."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from weft.aggregates.component import ROWS
from weft.catalog.statistics import Sizes
from weft.model.stages import PartialStage
from weft.spark.stages.partial import SLICE

# Counting takes about 0.2 µs a slice and predicate: that must stay little beside the 0.9 µs of its way to Python.
MOST_PREDICATES = 4
NAMES = ("rows", "keys", "first", "last", "slices")


@dataclass(frozen=True)
class SizeObservation:
    """What will be known of a scan's slices once the first job over them is done."""

    partial: PartialStage
    observation: Observation

    def sizes(self) -> Iterator[tuple[PartialStage, int, Sizes]]:
        """The sizes of each predicate's rows, by its number."""
        found, partial = self.observation.get, self.partial
        for number in predicate_numbers(partial):
            yield partial, number, sizes_of(partial, *(found[f"{name}{number}"] for name in NAMES))


def sizes_of(partial: PartialStage, rows: float | None, keys: float, first: int | None, last: int | None,
             slices: float) -> Sizes:
    """The sizes of a stage's slices, by what was counted of them."""
    # A slice is no longer than the shortest period after which time is cut.
    longest = min(period for _, period in partial.progressions)
    span = None if first is None or last is None or partial.counts_rows else float(last - first + longest)
    return Sizes(rows, float(keys), span, float(slices))


@dataclass
class SizeObserver:
    """Counts slices as they pass, and knows how many there were once the first job over them is done."""

    made: list[SizeObservation] = field(default_factory=list)
    told: list[tuple[PartialStage, int, Sizes]] = field(default_factory=list)

    def learn(self, partial: PartialStage, found: Mapping[int, Sizes]) -> None:
        """Take the sizes of slices, by predicate, that workers counted: no job over them passes here."""
        self.made = [watch for watch in self.made if watch.partial is not partial]
        self.told += [(partial, number, sizes) for number, sizes in found.items()]

    def __call__(self, slices: DataFrame, partial: PartialStage) -> DataFrame:
        """The slices, counted; those of many predicates are left alone: to count those of each would cost too much."""
        if not is_countable(partial):
            return slices
        self.made.append(SizeObservation(partial, Observation()))
        return slices.observe(self.made[-1].observation, *count_columns(partial))

    def sizes(self) -> list[tuple[PartialStage, int, Sizes]]:
        """The sizes of all that passed."""
        return [*self.told, *(found for watch in self.made for found in watch.sizes())]


def predicate_numbers(partial: PartialStage) -> list[int]:
    """The numbers of the predicates that its queries have; a derived grouping may have fewer than its parent."""
    if not partial.numbered:
        return [0]
    return sorted({column.predicate for column in partial.columns if column.predicate is not None})


def is_countable(partial: PartialStage) -> bool:
    """Whether slices say of each predicate how many rows they have, and there are few predicates."""
    return partial.sharing != "shards" and len(partial.predicates) <= MOST_PREDICATES


def count_names(partial: PartialStage) -> Iterator[tuple[int, str | None]]:
    """The column that counts the rows of each predicate, if there is one; nothing of stages that are not countable."""
    if is_countable(partial):
        for number in predicate_numbers(partial):
            yield number, partial.place.get((ROWS.columns[0], number if partial.numbered else None))


def count_columns(partial: PartialStage) -> Iterator[Column]:
    """What is counted for each predicate, by the names of `NAMES`."""
    # Of a hash, not of a struct: that takes a fifth of the time.
    keys = F.xxhash64(*partial.key_names) if partial.keys else F.lit(1)
    for number, rows in count_names(partial):
        some = F.col(rows) > 0 if partial.numbered and rows else F.lit(True)
        yield (F.sum(rows).cast("double") if rows else F.lit(None).cast("double")).alias(f"rows{number}")
        yield F.approx_count_distinct(F.when(some, keys)).alias(f"keys{number}")
        yield F.min(F.when(some, F.col(SLICE))).alias(f"first{number}")
        yield F.max(F.when(some, F.col(SLICE))).alias(f"last{number}")
        yield F.count_if(some).alias(f"slices{number}")
