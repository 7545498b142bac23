"""Harmonic: every period is a multiple of the one before it, so that every run holds all the more frequent groups.

Beyond the paper. With groups in the order of their bounds, periods T₁ | T₂ | … and C_i the cost of the first i groups
together, runs nest and the cost is Σ (C_i − C_{i−1}) / T_i. Some period of the best chain equals its bound, else all
could be longer; so T₁ is a bound divided by a whole number, and the search tries such parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from weft.optimize.schedule.base import Policy
from weft.optimize.schedule.problem import ScheduleProblem, close_bounds, merge_groups
from weft.optimize.schedule.timetable import Schedule, expand, steady_schedule

BASES = 16  # first periods that are tried for each bound
KEPT = 32  # chains of one length that the search goes on with
MOST = 256  # first periods that are tried in all
FEW = 48  # multiples that are all tried
AHEAD = 8  # bounds that a multiple may be chosen for
Chain = tuple[float, tuple[int, ...]]  # its cost so far, and each period as a multiple of the first


@lru_cache(maxsize=64)
def schedule(problem: ScheduleProblem) -> Schedule:
    """The schedule of the cheapest chain found; bounds that are close to each other have one period where all are
    too many."""
    parts = close_bounds(problem.bounds)
    return expand(chain_schedule(merge_groups(problem, parts)), parts)


def chain_schedule(problem: ScheduleProblem) -> Schedule:
    """The schedule of the cheapest chain found; all at the smallest bound is one of them."""
    steps = added_costs(problem)
    likely = sorted(best_chain(problem.bounds, steps, base) for base in first_periods(problem.bounds))[:KEPT]
    together = [problem.bounds[0]] * len(problem.bounds)
    chains = [together, *(periods for _, periods in likely)]
    return steady_schedule(min(chains, key=lambda periods: chain_cost(steps, periods)))


def added_costs(problem: ScheduleProblem) -> list[Fraction]:
    """What each group adds to a run of all groups before it."""
    together = [problem.costs.together(range(i)) for i in range(len(problem.groups) + 1)]
    return [after - before for before, after in pairwise(together)]


def chain_cost(steps: Sequence[Fraction], periods: Sequence[int]) -> Fraction:
    """What a chain costs per unit of time."""
    return sum((step / period for step, period in zip(steps, periods, strict=True)), Fraction(0))


def first_periods(bounds: Sequence[int]) -> list[int]:
    """The first periods that let some bound be reached, the longest of each bound."""
    return sorted({base for bound in bounds for base in whole_parts(bound, bounds[0], BASES)})[-MOST:]


def whole_parts(length: int, most: int, count: int) -> Iterator[int]:
    """The largest of the whole parts length, length / 2, length / 3, … that are at most `most`, rounded down."""
    first = -(-length // most)
    return (length // n for n in range(first, min(first + count, length + 1)))


def best_chain(bounds: Sequence[int], steps: Sequence[Fraction], base: int) -> tuple[float, list[int]]:
    """The cheapest chain from a first period on, with what it costs: the `KEPT` best of each length are extended."""
    longest = [bound // base for bound in bounds]
    chains: list[Chain] = [(float(steps[0]) / base, (1,))]
    for i in range(1, len(bounds)):
        best: dict[int, Chain] = {}
        for cost, multiples in chains:
            for multiple in next_multiples(longest[i : i + AHEAD], multiples[-1]):
                found = (cost + float(steps[i]) / (base * multiple), (*multiples, multiple))
                best[multiple] = min(found, best.get(multiple, found))
        chains = sorted(best.values())[:KEPT]
    cost, multiples = min(chains)
    return cost, [base * multiple for multiple in multiples]


def next_multiples(longest: Sequence[int], last: int) -> set[int]:
    """Multiples of the last one that fit: all if they are few, else those by which this or a later bound is reached."""
    most = longest[0] // last
    if most <= FEW:
        return {last * n for n in range(1, most + 1)}
    return {last * n for reached in longest for n in whole_parts(reached // last, most, BASES)}


harmonic = Policy(
    "harmonic", "Harmonic", "Periods that divide each other, so that runs nest.", "beyond the paper", schedule,
)
