"""Weft runs many sliding-window SQL aggregates on Apache Spark for close to the price of one scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.aggregates.track_cluster_centers import TrackClusterCenters
    from weft.aggregates.user import PlainAggregate, UserAggregate
    from weft.catalog.store import CatalogWarning
    from weft.errors import (
        AggregateError,
        CatalogError,
        CheckError,
        ParseError,
        PlanError,
        QueriesError,
        QueryError,
        RefusedError,
        RunError,
        ScheduleWarning,
        SettingError,
        SourceError,
        StreamWarning,
        WeftError,
    )
    from weft.io.answer_sink import AnswerSink, SinkFacts
    from weft.io.kafka import Kafka, KafkaSink
    from weft.io.row_source import RowSource, SourceFacts
    from weft.loom import Loom, Plan
    from weft.model import Query, Window
    from weft.model.live_change import LiveChange
    from weft.optimize.base import Optimizer
    from weft.optimize.problem import Problem
    from weft.runner.reading import ScheduledRun
    from weft.runner.runner import RunnerOptions, ScheduleRunner
    from weft.spark.batch.run import Results
    from weft.spark.batch.verify import Verification
    from weft.spark.compact.run import compact
    from weft.spark.session.package_zip import package_zip
    from weft.spark.stream.handle import Stream
    from weft.spark.stream.metrics import MetricsListener, listen_to
    from weft.stages.diff import PlanDiff
    from weft.stages.explain import Explanation
    from weft.testing.laws import assert_laws

__version__ = "0.1.0"
# What users and docs import, and where it lives.
_HOMES = {
    "LiveChange": "weft.model.live_change",
    "Loom": "weft.loom",
    "Plan": "weft.loom",
    "Query": "weft.model",
    "Window": "weft.model",
    "Optimizer": "weft.optimize.base",
    "Problem": "weft.optimize.problem",
    "PlainAggregate": "weft.aggregates.user",
    "UserAggregate": "weft.aggregates.user",
    "TrackClusterCenters": "weft.aggregates.track_cluster_centers",
    "assert_laws": "weft.testing.laws",
    "Kafka": "weft.io.kafka",
    "KafkaSink": "weft.io.kafka",
    "package_zip": "weft.spark.session.package_zip",
    "Explanation": "weft.stages.explain",
    "PlanDiff": "weft.stages.diff",
    "Results": "weft.spark.batch.run",
    "Verification": "weft.spark.batch.verify",
    "Stream": "weft.spark.stream.handle",
    "MetricsListener": "weft.spark.stream.metrics",
    "listen_to": "weft.spark.stream.metrics",
    "AnswerSink": "weft.io.answer_sink",
    "RowSource": "weft.io.row_source",
    "SinkFacts": "weft.io.answer_sink",
    "SourceFacts": "weft.io.row_source",
    "AggregateError": "weft.errors",
    "CatalogError": "weft.errors",
    "CheckError": "weft.errors",
    "ParseError": "weft.errors",
    "PlanError": "weft.errors",
    "QueriesError": "weft.errors",
    "QueryError": "weft.errors",
    "RefusedError": "weft.errors",
    "RunError": "weft.errors",
    "RunnerOptions": "weft.runner.runner",
    "ScheduleRunner": "weft.runner.runner",
    "ScheduleWarning": "weft.errors",
    "ScheduledRun": "weft.runner.reading",
    "SettingError": "weft.errors",
    "SourceError": "weft.errors",
    "StreamWarning": "weft.errors",
    "WeftError": "weft.errors",
    "compact": "weft.spark.compact.run",
    "CatalogWarning": "weft.catalog.store",
}
__all__ = [
    "AggregateError",
    "AnswerSink",
    "CatalogError",
    "CatalogWarning",
    "CheckError",
    "Explanation",
    "Kafka",
    "KafkaSink",
    "LiveChange",
    "Loom",
    "MetricsListener",
    "Optimizer",
    "ParseError",
    "PlainAggregate",
    "Plan",
    "PlanDiff",
    "PlanError",
    "Problem",
    "QueriesError",
    "Query",
    "QueryError",
    "RefusedError",
    "Results",
    "RowSource",
    "RunError",
    "RunnerOptions",
    "ScheduleRunner",
    "ScheduleWarning",
    "ScheduledRun",
    "SettingError",
    "SinkFacts",
    "SourceError",
    "SourceFacts",
    "Stream",
    "StreamWarning",
    "TrackClusterCenters",
    "UserAggregate",
    "Verification",
    "WeftError",
    "Window",
    "assert_laws",
    "compact",
    "listen_to",
    "package_zip",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: a Spark worker needs the kernels and none of these."""
    if name not in _HOMES:
        raise AttributeError(f"module 'weft' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
