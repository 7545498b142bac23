"""Which schedule a runner follows, and what is to be said of bounds that cannot be kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from weft.cost.runs import RunCosts
from weft.errors import PlanError
from weft.model.window import duration
from weft.optimize.schedule import POLICIES, Policy, RunGroup, Schedule, ScheduleProblem, find_policy, make_schedule
from weft.optimize.schedule.cost_rate import CostRate, cost_rate
from weft.optimize.schedule.timetable import expand
from weft.runner.groups import QueryGroup

SECOND = 1_000_000


@dataclass(frozen=True)
class ChosenSchedule:
    """A policy's schedule of groups; costs are seconds. `measured` is how many earlier runs these come from."""

    groups: tuple[QueryGroup, ...]
    problem: ScheduleProblem
    policy: Policy
    schedule: Schedule
    rate: CostRate
    measured: int

    @property
    def queries(self) -> tuple[str, ...]:
        """Every query, group by group."""
        return tuple(name for group in self.groups for name in group.queries)

    @property
    def bounds(self) -> tuple[int, ...]:
        """The bound of each query."""
        return tuple(group.bound for group in self.groups for _ in group.queries)

    @property
    def utilisation(self) -> float:
        """The part of the time in which something runs."""
        return float(self.rate.cost * SECOND)

    def timetable(self) -> Schedule:
        """The schedule for each query by itself: one that fails must not fail its group."""
        numbers = iter(range(len(self.queries)))
        return expand(self.schedule, [[next(numbers) for _ in group.queries] for group in self.groups])


def make_problem(groups: Sequence[QueryGroup], costs: RunCosts) -> ScheduleProblem:
    """The groups with what their runs cost."""
    made = (RunGroup(group.name, group.bound, rounded(costs.reads[g]), rounded(costs.answers[g]))
            for g, group in enumerate(groups))
    return ScheduleProblem(tuple(made), rounded(costs.overhead))


def rounded(cost: Fraction) -> Fraction:
    """A cost to the microsecond, as exact sums of longer fractions take long."""
    return Fraction(round(cost * SECOND), SECOND)


def choose_schedule(groups: Sequence[QueryGroup], problem: ScheduleProblem, policy: str | None = None,
                    measured: int = 0) -> ChosenSchedule:
    """The schedule of a policy, or of the cheapest of all; of equals the first."""
    wanted = POLICIES if policy is None else (find_policy(policy),)
    found = [(one, make_schedule(one, problem)) for one in wanted]
    rated = [ChosenSchedule(tuple(groups), problem, one, schedule, cost_rate(problem, schedule), measured)
             for one, schedule in found]
    return min(rated, key=lambda one: one.rate.cost)


def require_sustainable(chosen: ChosenSchedule) -> None:
    """Raise where a bound is below what any run takes, however little it does."""
    problem = chosen.problem
    for g, group in enumerate(chosen.groups):
        if group.bound < problem.overhead * SECOND:
            least = problem.costs.together([g])
            raise PlanError(
                f"every {duration(group.bound)} for {group.name} is less than a run takes, however little it does: "
                f"{seconds(problem.overhead)} ({known_by(chosen)}). The least that can be kept here is "
                f"every {seconds(least)}.")


def unmet_bounds(chosen: ChosenSchedule) -> Iterator[str]:
    """Sentences on bounds that no schedule keeps; late queries then run together with those that are due."""
    if chosen.utilisation > 1:
        yield (f"These bounds cannot all be kept: {chosen.policy.name} would need {chosen.utilisation:.0%} of the time "
               f"({known_by(chosen)}). What is late runs together with what is due; give longer bounds.")
    costs, shortest = chosen.problem.costs, chosen.groups[0]
    for g, group in enumerate(chosen.groups):
        takes = costs.together([g])
        if takes * SECOND > shortest.bound:
            yield (f"No schedule keeps every {duration(shortest.bound)} for {shortest.name}: one run of {group.name} "
                   f"takes {seconds(takes)} ({known_by(chosen)}), and nothing else runs meanwhile.")
            return


def known_by(chosen: ChosenSchedule) -> str:
    """Where the costs come from."""
    if not chosen.measured:
        return "estimated, as nothing has run by a schedule here yet"
    return f"measured by {chosen.measured} earlier run{'s' if chosen.measured > 1 else ''}"


def seconds(cost: Fraction | float) -> str:
    """Seconds in three digits."""
    return f"{float(f'{float(cost):.3g}'):g} s"
