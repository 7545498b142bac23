"""Predicates: which scans of queries that differ in WHERE become one, and how its slices serve all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from weft.aggregates.component import ROWS
from weft.cost.model import Model, SparkModel
from weft.cost.predicates import most_filtered
from weft.model.edges import edges_of
from weft.model.plan import Scan, Tree
from weft.model.statistics import ASSUMED
from weft.model.workload import BoundQuery
from weft.optimize.marks import count_kinds, mark, unscaled
from weft.optimize.problem import union_density
from weft.slicing import find_slicer

# The model of a query's scan.
ModelOf = Callable[[BoundQuery], Model]
# The rows of a slice where nobody knows: a minute of what a source is taken for.
ROWS_OF_SLICES = ASSUMED.rows / ASSUMED.keys / (ASSUMED.span / 60e6)
# More predicates than these, each evaluated by itself, make methods that the JVM no longer compiles.
MOST_ALONE = 100
# How much more finely a scan may cut time for the sake of other predicates: slices cost more than a scan saves.
FINER = 1.25
# A column, or a field of one: an expression that cannot fail.
COLUMN = re.compile(r"(\w+|`[^`]+`)(\.(\w+|`[^`]+`))*")


def choose_sharing(scans: Iterable[Scan], model: ModelOf) -> list[Scan]:
    """The scans, those of several predicates with how these share slices at least cost."""
    return [replace(scan, sharing=share_predicates(scan, rows_of_slices(scan, model))) if len(scan.predicates) > 1
            else scan for scan in scans]


def rows_of_slices(scan: Scan, model: ModelOf) -> float:
    """How many rows a slice of a scan has, by the model of the predicate that lets most of them pass."""
    models = [model(bound) for bound in {bound.query.where: bound for bound in scan.served}.values()]
    known = max((each for each in models if isinstance(each, SparkModel)), key=lambda each: each.rate, default=None)
    return ROWS_OF_SLICES if known is None else known.rate / (known.keys * joint_rate(scan))


def share_predicates(scan: Scan, rows: float = ROWS_OF_SLICES) -> str:
    """By filters, a column set for each predicate in one slice, while these columns are few enough; else by shards,
    rows being grouped by the predicates that they pass (000 §5.3)."""
    asking = scan.wanted
    counting = set(asking.get(ROWS.columns[0], ()))
    columns = sum(map(len, asking.values())) + len(set(scan.predicates) - counting)
    kinds = count_kinds(mark(scan.predicates, scan.risky))
    return "filters" if columns <= most_filtered(len(asking), kinds, rows) else "shards"


def join_predicates(scans: Iterable[Scan]) -> list[Scan]:
    """The scans, those joined that differ in predicates and cut time alike; each of one tree."""
    joined: list[Scan] = []
    for scan in (part for group in cut_alike(scans) for part in join_scans(group)):
        home = next((i for i, other in enumerate(joined) if may_join(other, scan)), None)
        if home is None:
            joined.append(scan)
        else:
            joined[home] = one_scan((joined[home], scan))
    return joined


def cut_alike(scans: Iterable[Scan]) -> list[list[Scan]]:
    """The scans that surely may be joined but for their predicates: they cut time in the same places."""
    groups: dict[tuple, list[Scan]] = {}
    for i, scan in enumerate(scans):
        query, edges = scan.head.query, frozenset(map(edges_of, scan.windows))
        free = len(scan.trees) == 1 and all(COLUMN.fullmatch(key) for key in query.keys)
        # Queries of one predicate that an optimizer parts cut time otherwise: no predicate comes twice into a group.
        groups.setdefault((query.source, query.time, query.keys, edges) if free else (i,), []).append(scan)
    return list(groups.values())


def join_scans(scans: Sequence[Scan]) -> Iterator[Scan]:
    """Scans as one, or as several where too many predicates would have to be evaluated one by one."""
    risky = frozenset().union(*(scan.risky for scan in scans))
    alone = set(unscaled([p for scan in scans for p in scan.predicates], risky))
    single = [scan for scan in scans if alone.intersection(scan.predicates)]
    others = [scan for scan in scans if not alone.intersection(scan.predicates)]
    yield one_scan((*others, *single[:MOST_ALONE]))
    for i in range(MOST_ALONE, len(single), MOST_ALONE):
        yield one_scan(single[i : i + MOST_ALONE])


def one_scan(scans: Sequence[Scan]) -> Scan:
    """Scans of one tree each as one."""
    return scans[0] if len(scans) == 1 else Scan(
        (Tree(tuple(b for scan in scans for b in scan.queries)),), slicer=scans[0].slicer)


def may_join(a: Scan, b: Scan) -> bool:
    """Whether two scans read the same rows of a source by the same keys, which must not fail on rows that only one of
    them lets pass, and neither makes the other's slices much finer."""
    first, second = a.head.query, b.head.query
    same = (first.source, first.time, first.keys) == (second.source, second.time, second.keys)
    if not same or len(a.trees) > 1 or len(b.trees) > 1 or not all(COLUMN.fullmatch(key) for key in first.keys):
        return False
    if set(a.predicates) & set(b.predicates):
        return False  # the optimizer has parted them
    if len(unscaled((*a.predicates, *b.predicates), a.risky | b.risky)) > MOST_ALONE:
        return False
    return joint_rate(a, b) <= FINER * min(joint_rate(a), joint_rate(b))


def joint_rate(*scans: Scan) -> float:
    """How often the scans together cut time."""
    slicer = find_slicer(scans[0].slicer)
    return float(union_density(tuple({slicer.each(w) for scan in scans for w in scan.cut_for}), slicer).value)
