"""Cyclic: any times at all, the least cost that bounds allow: the minimum mean cycle over the groups' ages.

Beyond the paper. Where the graph of ages has at most `AGES` numbers in it the schedule is the optimum of all schedules,
and so the oracle of the family. Where it has more, bounds are rounded down to a coarser unit of time, first of all
groups and then of hybrid's parts, until it fits; the best of these, of harmonic and of hybrid is taken. So cyclic never
costs more than those two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import gcd

from weft.optimize.schedule.ages import Step, age_graph
from weft.optimize.schedule.base import Policy
from weft.optimize.schedule.cost_rate import cost_rate
from weft.optimize.schedule.harmonic import harmonic
from weft.optimize.schedule.hybrid import hybrid
from weft.optimize.schedule.minimum_cycle import minimum_cycle
from weft.optimize.schedule.problem import ScheduleProblem, merge_groups
from weft.optimize.schedule.timetable import Rhythm, Schedule, expand

AGES = 160_000  # steps of the graph, times the groups of which each has an age
# Into how many units the smallest bound is cut where its own unit is too fine.
PARTS = (12, 6, 4, 3, 2, 1)
TimedRun = tuple[int, tuple[int, ...]]  # units since the cycle began, and the groups


def schedule(problem: ScheduleProblem) -> Schedule:
    """The optimum, or the best of what is affordable."""
    found = optimum(problem, gcd(*problem.bounds))
    if found is not None:
        return found
    return min(affordable(problem), key=lambda one: cost_rate(problem, one).cost)


def optimum(problem: ScheduleProblem, unit: int, note: str = "") -> Schedule | None:
    """The cheapest schedule whose runs lie at multiples of a unit; None where the graph of ages is too large."""
    limits = [bound // unit for bound in problem.bounds]
    graph = age_graph(limits, problem.costs, AGES // len(limits))
    if graph is None:
        return None
    cycle = minimum_cycle(graph)
    period = sum(step.wait for step in cycle)
    runs = postpone(cheap_first(cycle), limits, period)
    times = ([at for at, members in runs if g in members] for g in range(len(limits)))
    return Schedule(tuple(Rhythm(period * unit, tuple(at * unit for at in mine)) for mine in times), not note, note)


def cheap_first(cycle: Sequence[Step]) -> list[TimedRun]:
    """The runs of a cycle from the dearest one on, in the direction that has cheap runs first.

    Backwards in time every gap and every run stays what it is, so both directions cost the same.
    """
    first = max(range(len(cycle)), key=lambda i: (cycle[i].cost, len(cycle[i].members), -i))
    ordered, period = [*cycle[first:], *cycle[:first]], sum(step.wait for step in cycle)
    times = [0, *accumulate(step.wait for step in ordered[1:])]
    forth = [(at, step) for at, step in zip(times, ordered, strict=True)]
    back = [forth[0], *((period - at, step) for at, step in reversed(forth[1:]))]
    chosen = min(forth, back, key=lambda runs: [(step.cost, at) for at, step in runs])
    return [(at, step.members) for at, step in chosen]


def postpone(runs: Sequence[TimedRun], limits: Sequence[int], period: int) -> list[TimedRun]:
    """The runs after the first, each as late as the bounds of its groups allow, and before the next one."""
    last = {g: at - period for at, members in runs for g in members} | dict.fromkeys(runs[0][1], 0)
    late, ends = [runs[0]], [*(at for at, _ in runs[1:]), period]
    for (at, members), after in list(zip(runs, ends, strict=True))[1:]:
        moment = max(at, min(after - 1, *(last[g] + limits[g] for g in members)))
        late.append((moment, members))
        last |= dict.fromkeys(members, moment)
    return late


def affordable(problem: ScheduleProblem) -> Iterator[Schedule]:
    """Schedules of bounds that are rounded down, and those of the policies that cyclic never falls behind."""
    note = "too many ages for the optimum"
    for other in (harmonic, hybrid):
        found = other.schedule(problem)
        yield Schedule(found.rhythms, best=False, note=f"{note}: that of {other.name}")
    yield from coarser(problem, note)
    parts = same_rhythm(hybrid.schedule(problem))
    if len(parts) < len(problem.groups):
        yield from (expand(found, parts) for found in coarser(merge_groups(problem, parts), f"{note}, hybrid's parts"))


def coarser(problem: ScheduleProblem, note: str) -> Iterator[Schedule]:
    """The optima of ever coarser units."""
    for count in PARTS:
        unit = min(problem.bounds) // count
        if unit:
            found = optimum(problem, unit, f"{note}: bounds rounded down to parts of the smallest, {count} of it")
            yield from () if found is None else (found,)


def same_rhythm(found: Schedule) -> list[list[int]]:
    """The groups that have the same rhythm."""
    parts: dict[Rhythm, list[int]] = {}
    for g, rhythm in enumerate(found.rhythms):
        parts.setdefault(rhythm, []).append(g)
    return list(parts.values())


cyclic = Policy(
    "cyclic", "Cyclic", "The least cost of all schedules, where the groups are few enough to find it.",
    "beyond the paper", schedule,
)
