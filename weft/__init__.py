"""Weft runs many sliding-window SQL aggregates on Apache Spark for close to the price of one scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.aggregates.track_cluster_centers import TrackClusterCenters
    from weft.aggregates.user import PlainAggregate, UserAggregate
    from weft.errors import (
        AggregateError,
        CatalogError,
        CheckError,
        ParseError,
        QueryError,
        RefusedError,
        RunError,
        SettingError,
        SourceError,
        WeftError,
    )
    from weft.io.answer_sink import AnswerSink, SinkFacts
    from weft.io.row_source import RowSource, SourceFacts
    from weft.loom import Loom
    from weft.model import Query, Window
    from weft.optimize.base import Optimizer
    from weft.optimize.problem import Problem

__version__ = "0.1.0"
_HOMES = {
    "Loom": "weft.loom",
    "Query": "weft.model",
    "Window": "weft.model",
    "Optimizer": "weft.optimize.base",
    "Problem": "weft.optimize.problem",
    "PlainAggregate": "weft.aggregates.user",
    "TrackClusterCenters": "weft.aggregates.track_cluster_centers",
    "UserAggregate": "weft.aggregates.user",
    "AnswerSink": "weft.io.answer_sink",
    "RowSource": "weft.io.row_source",
    "SinkFacts": "weft.io.answer_sink",
    "SourceFacts": "weft.io.row_source",
    "AggregateError": "weft.errors",
    "CatalogError": "weft.errors",
    "CheckError": "weft.errors",
    "ParseError": "weft.errors",
    "QueryError": "weft.errors",
    "RefusedError": "weft.errors",
    "RunError": "weft.errors",
    "SettingError": "weft.errors",
    "SourceError": "weft.errors",
    "WeftError": "weft.errors",
}
__all__ = [
    "AggregateError",
    "AnswerSink",
    "CatalogError",
    "CheckError",
    "Loom",
    "Optimizer",
    "ParseError",
    "PlainAggregate",
    "Problem",
    "Query",
    "QueryError",
    "RefusedError",
    "RowSource",
    "RunError",
    "SettingError",
    "SinkFacts",
    "SourceError",
    "SourceFacts",
    "TrackClusterCenters",
    "UserAggregate",
    "WeftError",
    "Window",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: a Spark worker needs the kernels and none of these."""
    if name not in _HOMES:
        raise AttributeError(f"module 'weft' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
