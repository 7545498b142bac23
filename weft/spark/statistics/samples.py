"""Samples of sources: how many keys a grouping has, where nobody measured it and several groupings could share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from weft.cost.model import SparkModel
from weft.errors import SourceError
from weft.io.java import Py4JJavaError
from weft.model.plan import Scan
from weft.model.statistics import ASSUMED, Statistics
from weft.model.workload import Workload
from weft.optimize.predicates import COLUMN
from weft.spark.statistics.measure import measure_keys

ROWS = 100_000  # the first of a source: as many as a second can read
FEWEST = 50  # fewer say nothing
MOST_SETS = 40

Keys = tuple[str, ...]


@dataclass
class SourceSamples:
    """What is known of the groupings of sources: measured, or else as the first rows of a source have it."""

    frames: Mapping[str, DataFrame]
    measured: Mapping[tuple, Statistics]
    found: dict[tuple[str, str, frozenset[str]], Statistics] = field(default_factory=dict)
    looked_at: set[tuple[str, str, frozenset[str]]] = field(default_factory=set)
    refresh: Callable[[str], None] = lambda source: None  # lets a source read the files that are there now

    def take(self, workload: Workload) -> None:
        """Look at the first rows of every source that queries group by several sets of columns, in one job each."""
        asked: dict[tuple[str, str], dict[Keys, None]] = {}
        for bound in workload:
            query = bound.query
            if all(COLUMN.fullmatch(key) for key in query.keys):
                asked.setdefault((query.source, query.time), {})[query.keys] = None
        for (source, time), sets in asked.items():
            places = {(source, time, frozenset(keys)): keys for keys in add_unions(tuple(sets))}
            wanted = [keys for place, keys in places.items() if place not in self.found.keys() | self.looked_at]
            if len(sets) > 1 and wanted:
                self.looked_at |= places.keys()
                self.look(source, time, wanted)

    def look(self, source: str, time: str, sets: Sequence[Keys]) -> None:
        """Count the keys of some sets of columns in the first rows of a source."""
        # Time may be a text that no cast can read in rows that a query does not let pass.
        try:
            self.refresh(source)
            found = measure_keys(self.frames[source].limit(ROWS), None, f"try_cast({time} AS TIMESTAMP_LTZ)", sets)
        except (PySparkException, Py4JJavaError, SourceError):
            return  # a source that cannot be read is the run's to tell; until then nothing is known of it
        self.found |= {(source, time, frozenset(keys)): each for keys, each in zip(sets, found, strict=True)
                       if each.rows >= FEWEST}

    def known(self, source: str, time: str, predicates: Sequence[str | None],
              keys: Keys) -> Statistics | None:
        """What a grouping is taken for: the most rows that are measured of it, or its sample, if there is any."""
        measured = [self.measured[key] for where in predicates if (key := (source, where, time, keys)) in self.measured]
        if measured:
            return max(measured, key=lambda each: each.rows)
        sample = self.found.get((source, time, frozenset(keys)))
        if sample is None:
            return None
        others = [found for (name, _, at, _), found in self.measured.items() if (name, at) == (source, time)]
        whole = max(others, key=lambda each: each.rows, default=scale_to_assumed(sample))
        return replace(whole, keys=sample.keys)

    def size(self, scan: Scan, keys: Keys) -> SparkModel:
        """The model of a scan's rows under some keys, of which there are as many as rows if nobody knows."""
        query = scan.head.query
        found = self.known(query.source, query.time, scan.predicates, keys) or replace(ASSUMED, keys=ASSUMED.rows)
        return SparkModel(found.rows / found.span, found.keys, found.span)


class RecalledSamples(SourceSamples):
    """What was known at an earlier time, to which nothing is added."""

    def take(self, workload: Workload) -> None:
        """Look at no row."""


def scale_to_assumed(sample: Statistics) -> Statistics:
    """A sample's rows a second and keys, over the span that is assumed."""
    return Statistics(sample.rows / sample.span * ASSUMED.span, sample.keys, ASSUMED.span)


def add_unions(sets: Sequence[Keys]) -> Iterator[Keys]:
    """The sets of keys, then the unions of two of them, as many as one job should count."""
    seen = {frozenset(keys): keys for keys in sets}
    for a, b in combinations(sets, 2):
        seen.setdefault(frozenset((*a, *b)), tuple(dict.fromkeys((*a, *b))))
    yield from list(seen.values())[:MOST_SETS]
