"""What a join of streams is planned from: streams, predicates, what a join takes, and how rows may be dropped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite

from weft.cost.joins.join_cost import JoinCost
from weft.errors import PlanError
from weft.model.window import ROW_COUNT, TIME

# What a drop box decides by: each row for itself, or a hash of the join key that is the same on all sides.
BY_ROWS, BY_KEYS = "rows", "keys"
LEAST_STREAMS = 2


@dataclass(frozen=True)
class InputStream:
    """A stream to join: rows a second after its own predicates, and its window in rows or in seconds."""

    name: str
    rate: float
    window: float

    def __post_init__(self) -> None:
        for what, value in (("rate", self.rate), ("window", self.window)):
            if not (isfinite(value) and value > 0):
                raise PlanError(f"the {what} of stream '{self.name}' must be positive, not {value:g}.")


@dataclass(frozen=True)
class JoinPredicate:
    """An equality between two streams: which share of all their pairs it lets through."""

    left: str
    right: str
    selectivity: float

    def __post_init__(self) -> None:
        if self.left == self.right:
            raise PlanError(f"a selectivity joins '{self.left}' with itself: name two different streams.")
        if not 0 < self.selectivity <= 1:
            raise PlanError(f"the selectivity of '{self.left}' and '{self.right}' must be above 0 and at most 1, "
                            f"not {self.selectivity:g}: it is the share of all pairs of rows that match.")

    @property
    def pair(self) -> frozenset[str]:
        """The streams it joins, in no order."""
        return frozenset((self.left, self.right))


@dataclass(frozen=True)
class JoinProblem:
    """Streams to be joined by binary joins, one after another, on a machine of `capacity` seconds of work a second.

    `windows` says whether windows are so many rows or so many seconds long; `shed_by`, what drop boxes decide by.
    Without `cross_products` every stream that is joined has a predicate with one that is joined before.
    """

    streams: tuple[InputStream, ...]
    predicates: tuple[JoinPredicate, ...]
    cost: JoinCost
    windows: str = ROW_COUNT
    shed_by: str = BY_ROWS
    capacity: float = 1.0
    cross_products: bool = True

    def __post_init__(self) -> None:
        require_streams(self.streams)
        require_predicates(self.streams, self.predicates)
        if self.windows not in (ROW_COUNT, TIME):
            raise PlanError(f"windows are '{ROW_COUNT}' or '{TIME}', not '{self.windows}'.")
        if self.shed_by not in (BY_ROWS, BY_KEYS):
            raise PlanError(f"drop boxes decide by '{BY_ROWS}' or '{BY_KEYS}', not '{self.shed_by}'.")
        if not (isfinite(self.capacity) and self.capacity > 0):
            raise PlanError(f"the capacity must be positive, not {self.capacity:g}: give the number of cores.")

    @cached_property
    def selectivities(self) -> tuple[tuple[float, ...], ...]:
        """The selectivity of each pair of streams by their numbers; 1 is a cross product."""
        known = {p.pair: p.selectivity for p in self.predicates}
        names = [stream.name for stream in self.streams]
        return tuple(tuple(known.get(frozenset((a, b)), 1.0) for b in names) for a in names)

    @cached_property
    def seconds(self) -> tuple[float, float, float]:
        """What a row from the left, from the right and of the result takes of the machine."""
        left, right, emit = self.cost.of_left, self.cost.of_right, self.cost.emit
        return left / self.capacity, right / self.capacity, emit / self.capacity

    @cached_property
    def neighbours(self) -> tuple[frozenset[int], ...]:
        """For each stream those that it has a predicate with."""
        number = {stream.name: place for place, stream in enumerate(self.streams)}
        pairs = [(number[p.left], number[p.right]) for p in self.predicates]
        return tuple(frozenset([b for a, b in pairs if a == place] + [a for a, b in pairs if b == place])
                     for place in range(len(self.streams)))


def require_streams(streams: Sequence[InputStream]) -> None:
    """Refuses streams that cannot be joined."""
    names = [stream.name for stream in streams]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise PlanError(f"stream '{twice[0]}' is there twice: give each stream a name of its own, also where one is "
                        "joined with itself.")
    if len(names) < LEAST_STREAMS:
        raise PlanError("a join takes at least two streams: write each as name:rate:window.")


def require_predicates(streams: Sequence[InputStream], predicates: Sequence[JoinPredicate]) -> None:
    """Refuses predicates of streams that are not there, two of one pair, and streams that nothing joins."""
    names = [stream.name for stream in streams]
    for predicate in predicates:
        if unknown := sorted(predicate.pair - {*names}):
            raise PlanError(f"there is no stream '{unknown[0]}'. The streams are {', '.join(names)}.")
    pairs = [predicate.pair for predicate in predicates]
    if twice := next((p for p in predicates if pairs.count(p.pair) > 1), None):
        raise PlanError(f"the selectivity of '{twice.left}' and '{twice.right}' is there twice: give one, the product "
                        "if two conditions join them.")
    joined = reached(names[0], pairs)
    if lost := [name for name in names if name not in joined]:
        raise PlanError(f"nothing joins '{lost[0]}' with '{names[0]}': give the selectivity of '{lost[0]}' and a "
                        "stream that it is joined with, or 1 for a cross product.")


def reached(start: str, pairs: Iterable[frozenset[str]]) -> set[str]:
    """The streams that predicates lead to from one of them."""
    found, todo = {start}, list(pairs)
    while near := [pair for pair in todo if pair & found]:
        found |= frozenset().union(*near)
        todo = [pair for pair in todo if not pair <= found]
    return found
