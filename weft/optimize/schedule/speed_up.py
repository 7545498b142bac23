"""Groups that run more often than their bound asks for: when that pays, and what it saves in a schedule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm

from weft.optimize.schedule.cost_rate import cost_rate, own_rate
from weft.optimize.schedule.problem import ScheduleProblem
from weft.optimize.schedule.timetable import Rhythm, Schedule


@dataclass(frozen=True)
class SpeedUp:
    """A group that is sped up: the mean time between its runs, and the cost per µs that its own bound would add."""

    group: int
    every: Fraction
    saves: Fraction


def speed_up_sides(problem: ScheduleProblem, slow: int, fast: int) -> tuple[Fraction, Fraction]:
    """What it costs per µs to run a slow group j whenever a faster one i runs, and what that spares.

    It pays if the first is less: (c_ij − c_i) / s < c_j / t − (c_i + c_j − c_ij) / lcm(s, t), with s and t the bounds
    of i and j. For itself j would run every t, and share with i where both are due.
    """
    alone, other = problem.costs.together([slow]), problem.costs.together([fast])
    both = problem.costs.together([slow, fast])
    s, t = problem.bounds[fast], problem.bounds[slow]
    return (both - other) / s, alone / t - (alone + other - both) / lcm(s, t)


def speed_ups(problem: ScheduleProblem, schedule: Schedule) -> tuple[SpeedUp, ...]:
    """The groups that run more often than they must, and what each spares the others' runs remaining as they are.

    A group may save less than nothing by itself where only several together pay.
    """
    now, found = cost_rate(problem, schedule).cost, []
    for g, bound in enumerate(problem.bounds):
        every = 1 / own_rate(schedule, g)
        if every < bound:
            alone = (*schedule.rhythms[:g], Rhythm(bound), *schedule.rhythms[g + 1 :])
            found.append(SpeedUp(g, every, cost_rate(problem, replace(schedule, rhythms=alone)).cost - now))
    return tuple(found)
