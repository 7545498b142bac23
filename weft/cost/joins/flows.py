"""Rates and windows of what selections and joins give (004 §3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class Flow:
    """Rows a second, and how many of the latest rows a later join finds in the window."""

    rate: float
    window: float


def select(flow: Flow, selectivity: float) -> Flow:
    """What a selection lets through (004 Eq. 1, 2): the window is that of the rows before it, so it shrinks too."""
    return Flow(selectivity * flow.rate, selectivity * flow.window)


def join(left: Flow, right: Flow, selectivity: float) -> Flow:
    """The result of a join: each row meets the window of the other side (004 Eq. 3, 4)."""
    rate = selectivity * (right.window * left.rate + left.window * right.rate)
    return Flow(rate, selectivity * left.window * right.window)


def join_all(flows: Sequence[Flow], selectivity: float) -> Flow:
    """The result of joining all of them in any order (004 Eq. 5, 6); `selectivity` is that of all predicates."""
    others = (prod(f.window for place, f in enumerate(flows) if place != number) for number in range(len(flows)))
    rate = selectivity * sum(flow.rate * rest for flow, rest in zip(flows, others, strict=True))
    return Flow(rate, selectivity * prod(flow.window for flow in flows))
