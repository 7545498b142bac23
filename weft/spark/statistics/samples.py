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
from weft.spark.statistics.measure import measure_all
from weft.spark.statistics.parquet_rows import count_parquet_keys

ROWS = 100_000  # the first of a source: as many as a second can read
FEWEST = 50  # fewer say nothing
MOST_SETS = 40

Keys = tuple[str, ...]


@dataclass(frozen=True)
class Look:
    """The sets of columns of a source whose keys are to be counted, and the time that rows have."""

    source: str
    time: str
    sets: tuple[Keys, ...]


@dataclass
class SourceSamples:
    """What is known of the groupings of sources: measured, or else as the first rows of a source have it."""

    frames: Mapping[str, DataFrame]
    measured: Mapping[tuple, Statistics]
    found: dict[tuple[str, str, frozenset[str]], Statistics] = field(default_factory=dict)
    looked_at: set[tuple[str, str, frozenset[str]]] = field(default_factory=set)
    refresh: Callable[[str], None] = lambda source: None  # lets a source read the files that are there now
    parquet_files: Callable[[str], Sequence[str]] = lambda source: ()  # those of a source, if it reads nothing else

    def take(self, workload: Workload) -> None:
        """Look at the first rows of every source that queries group by several sets of columns."""
        asked: dict[tuple[str, str], dict[Keys, None]] = {}
        for bound in workload:
            query = bound.query
            if all(COLUMN.fullmatch(key) for key in query.keys):
                asked.setdefault((query.source, query.time), {})[query.keys] = None
        self.look([look for place, sets in asked.items() if len(sets) > 1 and (look := self._new(*place, tuple(sets)))])

    def _new(self, source: str, time: str, sets: Sequence[Keys]) -> Look | None:
        """What is to be counted of a source for the first time."""
        places = {(source, time, frozenset(keys)): keys for keys in add_unions(sets)}
        wanted = tuple(keys for place, keys in places.items() if place not in self.found.keys() | self.looked_at)
        self.looked_at |= places.keys()
        return Look(source, time, wanted) if wanted else None

    def look(self, looks: Sequence[Look]) -> None:
        """Count keys in the first rows of sources: in files where they lie here, of all others in one job."""
        waiting = [look for look in looks if not self._in_files(look)]
        if waiting and not self._by_spark(waiting):
            for look in waiting if len(waiting) > 1 else ():
                self._by_spark([look])

    def _in_files(self, look: Look) -> bool:
        """Whether a source needs no job: its files were read here, or cannot be listed, which is the run's to tell."""
        try:
            self.refresh(look.source)
            paths = self.parquet_files(look.source)
        except (PySparkException, Py4JJavaError, SourceError):
            return True
        found = count_parquet_keys(paths, look.time, look.sets, ROWS) if paths else None
        self._keep(look, found or ())
        return found is not None

    def _by_spark(self, looks: Sequence[Look]) -> bool:
        """Whether one job could count; where none can, nothing is known of a source until a run tells why."""
        # Time may be a text that no cast can read in rows that a query does not let pass.
        asked = [(self.frames[look.source].limit(ROWS), f"try_cast({look.time} AS TIMESTAMP_LTZ)", look.sets)
                 for look in looks]
        try:
            found = measure_all(asked)
        except (PySparkException, Py4JJavaError):
            return False
        for look, each in zip(looks, found, strict=True):
            self._keep(look, each)
        return True

    def _keep(self, look: Look, found: Sequence[Statistics]) -> None:
        self.found |= {(look.source, look.time, frozenset(keys)): each
                       for keys, each in zip(look.sets, found, strict=False) if each.rows >= FEWEST}

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
