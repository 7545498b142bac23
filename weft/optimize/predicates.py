"""Predicates: which scans of queries that differ in WHERE become one, and how its slices serve all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from weft.model.edges import edges_of
from weft.model.plan import Scan, Tree
from weft.optimize.problem import union_density

# More aggregates than these in one pass are more than Spark compiles well.
MOST_COLUMNS = 200
# How much more finely a scan may cut time for the sake of other predicates: slices cost more than a scan saves.
FINER = 1.25
# A column, or a field of one: an expression that cannot fail.
COLUMN = re.compile(r"(\w+|`[^`]+`)(\.(\w+|`[^`]+`))*")


def share_predicates(columns: int) -> str:
    """By filters, a column set for each predicate in one slice, while these columns are few enough; else by shards,
    rows being grouped by the predicates that they pass (000 §5.3).

    A slice that goes to Python costs far more than one more number in it, and sharing a slice among predicates makes
    no more of them.
    """
    return "filters" if columns <= MOST_COLUMNS else "shards"


def join_predicates(scans: Iterable[Scan]) -> list[Scan]:
    """The scans, those joined that differ in predicates and cut time alike; each of one tree."""
    joined: list[Scan] = []
    for scan in scans:
        home = next((i for i, other in enumerate(joined) if may_join(other, scan)), None)
        if home is None:
            joined.append(scan)
        else:
            joined[home] = Scan((Tree((*joined[home].queries, *scan.queries)),))
    return joined


def may_join(a: Scan, b: Scan) -> bool:
    """Whether two scans read the same rows of a source by the same keys, which must not fail on rows that only one of
    them lets pass, and neither makes the other's slices much finer."""
    first, second = a.head.query, b.head.query
    alike = (first.source, first.time, first.keys) == (second.source, second.time, second.keys)
    if not alike or len(a.trees) > 1 or len(b.trees) > 1 or not all(COLUMN.fullmatch(key) for key in first.keys):
        return False
    if set(a.predicates) & set(b.predicates):
        return False  # the optimizer has parted them
    return rate(a, b) <= FINER * min(rate(a), rate(b))


def rate(*scans: Scan) -> float:
    """How often the scans together cut time."""
    return float(union_density(tuple({edges_of(window) for scan in scans for window in scan.windows})).value)
