"""How many answers there are of each query: a bucket's counts as one short text, written by a worker and read from a
trigger's progress.

A counter of Spark's for each window would be planned, compiled and sent with each task of every trigger; one text a
bucket is a single column, however many windows there are, and whichever queries have come since the stream started.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

from weft.model.graph import digest

Counted = tuple[str, int, int]  # the id of a part, the place of a window, the number of a predicate
# The queries of each place of tables, by the tables' ids.
Labels = Mapping[str, tuple[tuple[str, ...], ...]]
REPEATED = "*"


@dataclass(frozen=True)
class CountTable:
    """What is counted: the queries at each place of a text, and the places of what workers count."""

    queries: tuple[tuple[str, ...], ...] = ()
    places: Mapping[Counted, int] = field(default_factory=dict, compare=False)

    @cached_property
    def id(self) -> str:
        """What tells the table from all others, also where a trigger's progress is read late."""
        return digest(repr(self.queries))

    @property
    def labels(self) -> Labels:
        """The queries at each place, under the table's id."""
        return {self.id: self.queries}

    def write(self, counts: Mapping[Counted, int]) -> str:
        """Counts as a text: the table's id, then each place's count; equal ones in a row are written once."""
        found = [0] * len(self.queries)
        for at, count in counts.items():
            if at in self.places:
                found[self.places[at]] += count
        runs = ((count, len(list(run))) for count, run in groupby(found))
        return f"{self.id} " + ",".join(str(count) if size == 1 else f"{count}{REPEATED}{size}" for count, size in runs)


def read_counts(texts: Iterable[str], labels: Labels) -> Iterator[tuple[tuple[str, ...], int]]:
    """The queries of each place with its count, of the tables that are known."""
    for text in texts:
        table, _, runs = text.partition(" ")
        counts = (count for run in runs.split(",") if run for count in expand(run))
        yield from zip(labels.get(table, ()), counts, strict=False)


def expand(run: str) -> list[int]:
    """The counts of a run."""
    count, _, size = run.partition(REPEATED)
    return [int(count)] * int(size or 1)
