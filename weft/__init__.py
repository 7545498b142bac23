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
    from weft.loom import Loom
    from weft.model import Query, Window
    from weft.spark.compact.run import compact

__version__ = "0.1.0"
_HOMES = {
    "Loom": "weft.loom",
    "Query": "weft.model",
    "Window": "weft.model",
    "PlainAggregate": "weft.aggregates.user",
    "TrackClusterCenters": "weft.aggregates.track_cluster_centers",
    "UserAggregate": "weft.aggregates.user",
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
    "compact": "weft.spark.compact.run",
}
__all__ = [
    "AggregateError",
    "CatalogError",
    "CheckError",
    "Loom",
    "ParseError",
    "PlainAggregate",
    "Query",
    "QueryError",
    "RefusedError",
    "RunError",
    "SettingError",
    "SourceError",
    "TrackClusterCenters",
    "UserAggregate",
    "WeftError",
    "Window",
    "compact",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: a Spark worker needs the kernels and none of these."""
    if name not in _HOMES:
        raise AttributeError(f"module 'weft' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
