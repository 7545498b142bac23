"""Policies: when groups of queries run, so that each stays as fresh as its bound says and runs are shared.

In: a `ScheduleProblem`, groups with bounds and costs. Out: a `Schedule`. To add a policy: one file and one line.
"""

from __future__ import annotations

from difflib import get_close_matches

from weft.errors import PlanError
from weft.optimize.schedule.aggressive import aggressive
from weft.optimize.schedule.base import Policy
from weft.optimize.schedule.conservative import conservative
from weft.optimize.schedule.cyclic import cyclic
from weft.optimize.schedule.harmonic import harmonic
from weft.optimize.schedule.hybrid import hybrid
from weft.optimize.schedule.problem import RunGroup, ScheduleProblem, merge_groups
from weft.optimize.schedule.timetable import Schedule, check_schedule, expand

# The paper's three, then ours; the oracle, which finds the best of all where groups are few, stands last.
POLICIES: tuple[Policy, ...] = (
    conservative,
    aggressive,
    hybrid,
    harmonic,
    cyclic,
)


def find_policy(name: str) -> Policy:
    """The policy of that name."""
    names = [policy.name for policy in POLICIES]
    if name not in names:
        near = get_close_matches(name, names, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"choose one of {', '.join(names)}."
        raise PlanError(f"there is no policy '{name}': {hint}")
    return POLICIES[names.index(name)]


def make_schedule(policy: Policy, problem: ScheduleProblem) -> Schedule:
    """A policy's schedule of a problem; groups of one bound have one rhythm."""
    found = policy.schedule(merge_groups(problem, problem.classes))
    return check_schedule(expand(found, problem.classes), problem, policy.name)


__all__ = ["POLICIES", "Policy", "RunGroup", "Schedule", "ScheduleProblem", "find_policy", "make_schedule"]
