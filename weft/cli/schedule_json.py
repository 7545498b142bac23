"""What machines read of schedules. Times are minutes, since costs are per minute."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import islice
from typing import Any

from weft.cli.schedule_reply import Loaded, PolicyReply, Reading, Reply
from weft.optimize.cost_breakdown import tidy
from weft.optimize.schedule import ScheduleProblem
from weft.optimize.schedule.figures import GroupFigures
from weft.optimize.schedule.problem import MINUTE

MOST_RUNS = 1000
DIGITS = 2**53


def to_dict(reply: Reply) -> dict[str, Any]:
    """The reply; `bounds_alone` is how it goes at the capacity without any schedule."""
    problem = reply.problem
    alone = {} if reply.alone is None else {"bounds_alone": loaded_dict(problem, reply.alone)}
    return {
        "unit": "minutes",
        "groups": [{"name": group.name, "bound": minutes(group.bound), "read": number(group.read),
                    "answers": number(group.answers)} for group in problem.groups],
        "overhead": number(problem.overhead),
        **({} if reply.capacity is None else {"capacity": number(reply.capacity)}),
        "cheapest": reply.cheapest.policy.name,
        "policies": [policy_dict(problem, one) for one in reply.policies],
        **alone,
    }


def policy_dict(problem: ScheduleProblem, one: PolicyReply) -> dict[str, Any]:
    """One policy: `runs` are those of a period, or the first of them; gaps, misses and ages under the capacity."""
    schedule, rate = one.schedule, one.rate
    runs = islice(schedule.runs(0, schedule.period), MOST_RUNS)
    return {
        "policy": one.policy.name,
        "cost_per_minute": number(rate.per_minute),
        "cost_error": tidy(rate.error * MINUTE),
        "period": minutes(schedule.period),
        "runs": [{"at": minutes(run.at), "groups": names(problem, run.members)} for run in runs],
        "runs_per_period": number(rate.runs * schedule.period),
        "best": schedule.best,
        "note": schedule.note,
        "sped_up": [{"group": problem.groups[up.group].name, "every": minutes(up.every),
                     "saves_per_minute": number(up.saves * MINUTE)} for up in one.sped_up],
        **(groups_dict(problem, one.planned) if one.loaded is None else loaded_dict(problem, one.loaded)),
    }


def loaded_dict(problem: ScheduleProblem, loaded: Loaded) -> dict[str, Any]:
    """How it goes at a capacity, what is late running with what is due, and apart from it."""
    return {**reading_dict(problem, loaded.merged), "apart": reading_dict(problem, loaded.apart)}


def reading_dict(problem: ScheduleProblem, reading: Reading) -> dict[str, Any]:
    """The figures of a simulation."""
    found = reading.simulation
    return {
        "simulated": {"minutes": minutes(found.until), "runs": len(found.runs),
                      "cost_per_minute": number(found.cost / found.until * MINUTE)},
        "executions_per_minute": tidy(reading.executions_per_minute),
        "utilisation": tidy(reading.utilisation),
        **groups_dict(problem, reading.groups),
    }


def groups_dict(problem: ScheduleProblem, groups: Sequence[GroupFigures]) -> dict[str, Any]:
    """Gaps, ages and misses by group."""
    pairs = [(group.name, group.bound, found) for group, found in zip(problem.groups, groups, strict=True)]
    return {
        "gaps": {name: {"bound": minutes(bound), "mean": minutes(found.mean_gap), "longest": minutes(found.longest_gap)}
                 for name, bound, found in pairs},
        "ages": {name: {"mean": minutes(found.mean_age), "oldest": minutes(found.oldest)} for name, _, found in pairs},
        "misses": {name: found.missed for name, _, found in pairs},
        "missed": sum(found.missed for found in groups),
    }


def names(problem: ScheduleProblem, members: tuple[int, ...]) -> list[str]:
    """The names of some groups."""
    return [problem.groups[g].name for g in members]


def minutes(micros: Fraction | int | None) -> float | int | None:
    """A time in minutes."""
    return None if micros is None else number(Fraction(micros, MINUTE))


def number(value: Fraction | int) -> float | int:
    """A number as JSON has it: whole where it is, or where no double has its digits."""
    value = Fraction(value)
    return int(value) if value.denominator == 1 or abs(value) > DIGITS else tidy(float(value))
