"""How the joins of a plan are made: by samples of their inputs, taken when a plan is made of rows that are new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.model.workload import Workload
from weft.optimize.join_method import choose_join_method
from weft.spark.statistics.join_samples import sample_inputs

if TYPE_CHECKING:
    from weft.loom.sources import Sources


def choose_methods(sources: Sources, workload: Workload) -> None:
    """Choose order and bins of every join of queries that is not a stream, unless that was done for the same rows."""
    for join in dict.fromkeys(bound.query.join for bound in workload if bound.query.join):
        frames = [sources.frames[name] for name in join.sources]
        if any(frame.isStreaming for frame in frames) or sources.is_sampled(join):
            continue
        if samples := sample_inputs(join, sources.frames):
            sources.use_method(join, choose_join_method(join, samples))
