"""What a schedule costs per unit of time, in closed form over the least common multiple of its rhythms."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random

from weft.model.edges import Progression, signed_terms, without_contained
from weft.optimize.schedule.problem import MINUTE, ScheduleProblem
from weft.optimize.schedule.timetable import Schedule

TERMS, SAMPLES = 4096, 4000


@dataclass(frozen=True)
class CostRate:
    """Cost and runs per µs; `error` bounds a sampled cost (three standard errors), else it is 0."""

    cost: Fraction
    runs: Fraction
    error: float = 0.0

    @property
    def per_minute(self) -> Fraction:
        """Cost per minute."""
        return self.cost * MINUTE


def cost_rate(problem: ScheduleProblem, schedule: Schedule) -> CostRate:
    """What a schedule costs: exact where that is affordable, else sampled with its error."""
    return exact_rate(problem, schedule) or sampled_rate(problem, schedule)


def exact_rate(problem: ScheduleProblem, schedule: Schedule) -> CostRate | None:
    """The cost by union densities; None where these have too many terms.

    Groups by what they read, the most first: a run reads as much as the first of them that is in it, so group i pays
    its `read` at the times of the first i groups that are not times of the first i − 1.
    """
    costs = problem.costs
    order = sorted(range(len(costs.reads)), key=lambda g: -costs.reads[g])
    total, before, times = Fraction(0), Fraction(0), set[Progression]()
    for g in order:
        times |= set(schedule.rhythms[g].progressions)
        density = union_density(times)
        if density is None:
            return None
        total += costs.reads[g] * (density - before) + costs.answers[g] * own_rate(schedule, g)
        before = density
    return CostRate(total + costs.overhead * before, before)


def union_density(times: set[Progression]) -> Fraction | None:
    """How many distinct times some progressions have per unit of time; None where F1 has too many terms."""
    periods = {period for _, period in times}
    if len(periods) == 1:
        return Fraction(len(times), periods.pop())
    terms = signed_terms(without_contained(times), TERMS)
    if terms is None:
        return None
    return sum((Fraction(sign, period) for (_, period), sign in terms.items()), Fraction(0))


def own_rate(schedule: Schedule, group: int) -> Fraction:
    """How often a group runs per unit of time."""
    return Fraction(len(schedule.rhythms[group].offsets), schedule.rhythms[group].period)


def sampled_rate(problem: ScheduleProblem, schedule: Schedule, samples: int = SAMPLES) -> CostRate:
    """The cost from random runs: a group is drawn by how often it runs, then one of its runs far out.

    A run of n groups is drawn n times as often as its time deserves, so it counts by 1 / n (Karp and Luby).
    """
    random, groups = Random(0), range(len(problem.groups))
    rates = [own_rate(schedule, g) for g in groups]
    costs, counts = [], []
    for g in random.choices(groups, [float(rate) for rate in rates], k=samples):
        moment = schedule.next_due(g, random.getrandbits(128))
        members = [other for other in groups if schedule.next_due(other, moment - 1) == moment]
        costs.append(float(problem.costs.together(members)) / len(members))
        counts.append(1 / len(members))
    mean = sum(costs) / samples
    spread = (sum((cost - mean) ** 2 for cost in costs) / max(samples - 1, 1) / samples) ** 0.5
    total = sum(rates, Fraction(0))
    runs = total * Fraction(sum(counts) / samples)
    return CostRate(total * Fraction(mean), runs, max(3 * spread, mean * 1e-12) * float(total))
