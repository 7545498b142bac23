"""How large the sources are, as far as a loom knows: measured, recalled from its store, or sampled; and what that
makes a plan cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from weft.aggregates.component import Component
from weft.catalog.statistics import Origin, Sizes
from weft.catalog.store import Rows, Store
from weft.cost.calibration_table import current_figures
from weft.cost.model import SparkModel
from weft.model.statistics import ASSUMED, Statistics
from weft.model.workload import BoundQuery, Workload
from weft.optimize.plan import scan_key, share_key
from weft.spark.statistics.measure import measure_scan
from weft.spark.statistics.samples import SourceSamples

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ModelOf = Callable[[BoundQuery], SparkModel]


class KnownSizes:
    """Sizes of the rows that queries read, by `scan_key`; `counted` says that the user had them measured."""

    def __init__(self, frames: dict[str, DataFrame], refresh: Callable[[str], None],
                 parquet_files: Callable[[str], Sequence[str]]):
        self.frames = frames
        self.counted = False
        self.measured: dict[tuple, Statistics] = {}
        self.samples = SourceSamples(frames, self.measured, refresh=refresh, parquet_files=parquet_files)

    def of(self, bound: BoundQuery) -> Statistics | None:
        """What is measured or recalled of the rows that a query reads."""
        return self.measured.get(scan_key(bound))

    def measure(self, workload: Iterable[BoundQuery], store: Store | None) -> None:
        """Count the rows that queries read, one pass a grouping, and keep that in the store."""
        self.counted = True
        for head in {scan_key(bound): bound for bound in workload}.values():
            found = self.measured[scan_key(head)] = measure_scan(self.frames[head.query.source], head)
            if store:
                store.keep([(Rows(*scan_key(head)), Sizes(found.rows, found.keys, found.span))], Origin.MEASURED)

    def recall(self, workload: Iterable[BoundQuery], store: Store | None) -> None:
        """Take over what the store knows of the rows that queries read."""
        for key in dict.fromkeys(map(scan_key, workload)):
            if store and key not in self.measured and (found := store.known(Rows(*key))):
                self.measured[key] = found

    def forget(self, source: str) -> None:
        """Know nothing of a source any more."""
        for known in (self.measured, self.samples.found):
            for key in [key for key in known if key[0] == source]:
                del known[key]
        self.samples.looked_at -= {key for key in self.samples.looked_at if key[0] == source}

    def to_dict(self) -> dict[str, Statistics]:
        """What is measured, by source and keys."""
        return {", ".join((key[0], *key[3])): found for key, found in self.measured.items()}


def model_of(workload: Workload, samples: SourceSamples) -> ModelOf:
    """What the scan of a query costs, where all queries of a workload that could share it do."""
    costs = current_figures().spark
    together: dict[tuple, set[Component]] = {}
    for bound in workload:
        together.setdefault(share_key(bound), set()).update(bound.components)

    def model(bound: BoundQuery) -> SparkModel:
        query = bound.query
        known = samples.known(query.source, query.time, (query.where,), query.keys) or ASSUMED
        found = known.in_rows if query.window.counts_rows else known
        # Rows that are numbered are shuffled first; rows of a join cost the rows of all of its inputs.
        moved = float(len(query.join.inputs)) if query.join else float(query.window.counts_rows)
        components = len(together[share_key(bound)])
        return SparkModel(found.rows / found.span, found.keys, found.span, components, moved=moved, costs=costs)

    return model
