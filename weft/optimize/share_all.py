"""Shared: queries with the same source, predicate, time and grouping share one scan and one tree."""

from __future__ import annotations

from weft.model.plan import Scan, SharedPlan, Tree
from weft.model.workload import Bound, Workload


def scan_key(bound: Bound) -> tuple:
    """What queries must agree on to share a scan."""
    query = bound.query
    return query.source, query.where, query.time, query.keys


def share_all(workload: Workload) -> SharedPlan:
    """One tree for all queries of a scan."""
    groups: dict[tuple, list[Bound]] = {}
    for bound in workload:
        groups.setdefault(scan_key(bound), []).append(bound)
    return SharedPlan("share_all", tuple(Scan((Tree(tuple(group)),)) for group in groups.values()))
