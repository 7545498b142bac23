"""What the plans of a loom share: the session, the sources and what is known of them, the store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weft.catalog.store import Store
from weft.loom.sizes import KnownSizes
from weft.loom.sources import Sources
from weft.model.graph import Node, StageGraph
from weft.model.plan import SharedPlan
from weft.model.stages import PartialStage
from weft.model.statistics import ASSUMED, Statistics
from weft.spark.bind.check import Checker
from weft.spark.session.settings import is_on
from weft.spark.session.workers import require_workers
from weft.spark.stages.partial import run_partial
from weft.spark.statistics.join_pilot import UnitPilot
from weft.spark.statistics.pilot import Pilot
from weft.stages.build import build

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, eq=False)
class Context:
    """What a plan needs to be made and to run; `every` is the bound of queries that have none of their own."""

    spark: SparkSession
    checker: Checker
    sources: Sources
    sizes: KnownSizes
    max_bag_values: int
    store: Store | None = None
    pilots: dict[tuple, tuple[DataFrame, Pilot]] = field(default_factory=dict)
    join_pilots: dict[tuple, tuple[DataFrame, UnitPilot]] = field(default_factory=dict)
    every: int | None = None

    @property
    def ansi(self) -> bool:
        """Whether overflows and bad casts are errors."""
        return is_on(self.spark, "spark.sql.ansi.enabled")

    def build(self, plan: SharedPlan) -> StageGraph:
        """The stages of a plan; raises if a forced algorithm must not fold what the queries ask."""
        return build(plan, self.ansi, self.max_bag_values, self.checker.identity, self.sources.methods)

    def rows(self, source: str) -> DataFrame:
        """The rows of a source, for workers to cut."""
        require_workers(self.spark)
        return self.sources.frames[source]

    def known_rows(self, stage: PartialStage) -> Statistics:
        """What is known of the rows that a scan reads, or what sources are taken for."""
        return self.sizes.samples.known(stage.source, stage.time, stage.predicates, stage.keys) or ASSUMED

    def slices(self, node: Node[PartialStage]) -> DataFrame:
        """The slices of a partial stage, of all rows of its source."""
        require_workers(self.spark)
        return run_partial(self.sources.frames[node.stage.source], node.stage)
