"""`weft schedule --groups`: what each policy makes of groups with freshness bounds, simulated, without a project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, lcm

import typer

from weft.cli.groups import read_groups
from weft.cli.output import CommandOutput
from weft.cli.schedule_json import to_dict
from weft.cli.schedule_pages import pages
from weft.cli.schedule_reply import Loaded, PolicyReply, Reading, Reply
from weft.errors import PlanError
from weft.optimize.schedule import POLICIES, Policy, ScheduleProblem, find_policy, make_schedule
from weft.optimize.schedule.cost_rate import cost_rate
from weft.optimize.schedule.figures import group_figures, planned_figures
from weft.optimize.schedule.simulate import Load, simulate
from weft.optimize.schedule.speed_up import speed_ups
from weft.optimize.schedule.timetable import BoundsAlone, Timetable

EVERY = "all"
LENGTHS, MOST = 1000, 10_000  # of the smallest bound that a simulation goes on for


@dataclass(frozen=True)
class Question:
    """What the user asks."""

    groups: Sequence[str]
    policies: Sequence[str] = ()
    capacity: float | None = None
    overhead: float | None = None


def show_policies(output: CommandOutput, question: Question) -> None:
    """Simulates the policies and shows them; whatever is wrong is wrong usage, since there is nothing but options."""
    reply = answer(question)
    output.show(to_dict(reply), *pages(reply))


def answer(question: Question) -> Reply:
    """What the policies make of the question's groups."""
    overhead = amount("--overhead", question.overhead) if question.overhead is not None else Fraction(0)
    capacity = amount("--capacity", question.capacity) if question.capacity is not None else None
    if capacity == 0:
        raise wrong("--capacity", "this must be positive: the cost that is done in a minute.")
    try:
        problem = read_groups(question.groups, overhead)
    except PlanError as error:
        raise wrong("--groups", error) from error
    return reply_for(problem, question.policies, capacity)


def reply_for(problem: ScheduleProblem, policies: Sequence[str], capacity: Fraction | None) -> Reply:
    """What policies make of a problem."""
    replies = tuple(policy_reply(problem, policy, capacity) for policy in chosen_policies(policies))
    alone = None if capacity is None else under_load(problem, BoundsAlone(problem.bounds), capacity)
    return Reply(problem, capacity, horizon(problem), replies, alone)


def wrong(option: str, reason: object) -> typer.BadParameter:
    """The error of wrong usage."""
    return typer.BadParameter(str(reason), param_hint=option)


def amount(option: str, value: float) -> Fraction:
    """A number that is one and is not negative."""
    if not (isfinite(value) and value >= 0):
        raise wrong(option, f"this must be a positive number, not {value:g}.")
    return Fraction(value)


def chosen_policies(names: Sequence[str]) -> Iterator[Policy]:
    """The policies of the names in the family's order; all where none is named."""
    try:
        wanted = {find_policy(name) for name in names if name != EVERY}
    except PlanError as error:
        raise wrong("--policy", error) from error
    return (policy for policy in POLICIES if policy in wanted or not names or EVERY in names)


def policy_reply(problem: ScheduleProblem, policy: Policy, capacity: Fraction | None) -> PolicyReply:
    """A policy's schedule, what it costs, and how it runs."""
    schedule = make_schedule(policy, problem)
    planned = tuple(planned_figures(rhythm, horizon(problem)) for rhythm in schedule.rhythms)
    loaded = None if capacity is None else under_load(problem, schedule, capacity)
    return PolicyReply(policy, schedule, cost_rate(problem, schedule), speed_ups(problem, schedule), planned, loaded)


def under_load(problem: ScheduleProblem, timetable: Timetable, capacity: Fraction) -> Loaded:
    """How a timetable runs at a capacity."""
    merged, apart = (reading(problem, timetable, Load(capacity, merge)) for merge in (True, False))
    return Loaded(merged, apart)


def reading(problem: ScheduleProblem, timetable: Timetable, load: Load) -> Reading:
    """A simulation and the figures of its groups."""
    span, least = horizon(problem), LENGTHS * min(problem.bounds)
    until = span if span >= least else -(-least // span) * span
    found = simulate(problem, timetable, until, load)
    return Reading(found, tuple(group_figures(found.runs, g, b, until) for g, b in enumerate(problem.bounds)))


def horizon(problem: ScheduleProblem) -> int:
    """The time in which runs are counted: until all bounds come round, if that is not too long."""
    bounds = problem.bounds
    return min(lcm(*bounds), max(LENGTHS * min(bounds), min(2 * max(bounds), MOST * min(bounds))))
