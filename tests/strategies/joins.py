"""Random problems of joins, and the example of the paper."""

from __future__ import annotations

from itertools import combinations

from hypothesis import strategies as st

from weft.cost.joins.join_cost import JoinCost, WindowCost, symmetric_cost
from weft.cost.joins.problem import BY_KEYS, BY_ROWS, InputStream, JoinPredicate, JoinProblem
from weft.model.window import ROW_COUNT, TIME

NAMES = "ABCDE"
# What drop boxes there are: windows, and what boxes decide by.
KINDS = ((ROW_COUNT, BY_ROWS), (TIME, BY_ROWS), (TIME, BY_KEYS))
RATES = {"A": 10.0, "B": 70.0, "C": 20.0}


def example_1(milliseconds: float, windows: str = ROW_COUNT, shed_by: str = BY_ROWS, **more: object) -> JoinProblem:
    """004 Example 1; windows of time hold its ten rows at the full rate."""
    streams = tuple(InputStream(n, r, 10.0 if windows == ROW_COUNT else 10 / r) for n, r in RATES.items())
    predicates = (JoinPredicate("A", "B", 0.5), JoinPredicate("B", "C", 0.2))
    return JoinProblem(streams, predicates, symmetric_cost(milliseconds / 1000), windows, shed_by, **more)


def log_floats(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers that are as often small as large: powers of ten between two exponents."""
    return st.floats(low, high).map(lambda power: 10.0**power)


@st.composite
def costs(draw: st.DrawFn) -> JoinCost:
    """What a join takes, mostly the same for both sides."""
    if draw(st.booleans()):
        return symmetric_cost(draw(log_floats(-6, 0)))
    sides = (WindowCost(*(draw(log_floats(-6, -1)) for _ in range(3))) for _ in range(2))
    return JoinCost(*sides, emit=draw(st.sampled_from([0.0, 1e-6, 1e-3])))


@st.composite
def problems(draw: st.DrawFn, kinds: tuple = KINDS, most: int = 5) -> JoinProblem:
    """Any join of two to five streams: a tree of predicates, and some more."""
    names = NAMES[: draw(st.integers(2, most))]
    streams = tuple(InputStream(name, draw(log_floats(-1, 3)), draw(log_floats(-1, 2.5))) for name in names)
    pairs = [(name, names[draw(st.integers(0, place - 1))]) for place, name in enumerate(names) if place]
    known = {frozenset(pair) for pair in pairs}
    pairs += [pair for pair in combinations(names, 2) if frozenset(pair) not in known and draw(st.booleans())]
    predicates = tuple(JoinPredicate(a, b, draw(log_floats(-4, 0))) for a, b in pairs)
    windows, shed_by = draw(st.sampled_from(kinds))
    return JoinProblem(streams, predicates, draw(costs()), windows, shed_by, draw(st.sampled_from([1.0, 2.0, 8.0])),
                       draw(st.booleans()))
