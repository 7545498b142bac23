"""Hybrid: the cheapest choice of groups to speed up, each part of a partition at its smallest bound (003).

The five choices that the paper lists for three groups are the partitions of the set; alone they are conservative, all
in one part they are aggressive. Up to `MOST` bounds every partition is priced; beyond, parts of neighbouring bounds are
merged one pair at a time from the conservative end to the aggressive one by an estimate, the likeliest partitions on
that way are polished, and the cheapest of these and of both ends is taken. So hybrid never costs more than either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import lcm, prod

from weft.optimize.exhaustive import partitions
from weft.optimize.schedule.base import Policy
from weft.optimize.schedule.cost_rate import cost_rate
from weft.optimize.schedule.problem import ScheduleProblem, close_bounds, merge_groups
from weft.optimize.schedule.timetable import Schedule, expand, steady_schedule

MOST = 10  # bounds of which all 115,975 partitions are priced
ROUNDS = 2  # of polishing
LIKELY = 4  # partitions that are polished and priced
Parts = list[list[int]]


@lru_cache(maxsize=64)
def schedule(problem: ScheduleProblem) -> Schedule:
    """The schedule of the best partition."""
    if len(problem.groups) <= MOST:
        return of_parts(problem, best_partition(problem))
    note = f"more than {MOST} bounds: neighbours merged, not every partition"
    return of_parts(problem, merged_neighbours(problem), best=False, note=note)


def of_parts(problem: ScheduleProblem, parts: Parts, best: bool = True, note: str = "") -> Schedule:
    """The schedule in which each part runs at its smallest bound."""
    return expand(steady_schedule(merge_groups(problem, parts).bounds, best, note), parts)


def best_partition(problem: ScheduleProblem) -> Parts:
    """The cheapest partition of few groups, by pricing them all."""
    price = PartitionPrices(problem)
    return min(partitions(len(problem.groups)), key=price.of)


class PartitionPrices:
    """Prices of partitions in whole numbers, from a table of all sets of bounds.

    `density[s]` is how often some bound of the set s has a multiple: inclusion and exclusion over all subsets at once.
    """

    def __init__(self, problem: ScheduleProblem):
        self.size, costs = len(problem.groups), problem.costs
        scale = lcm(*(value.denominator for value in (*costs.reads, *costs.answers, costs.overhead)))
        self.reads = [int(value * scale) for value in costs.reads]
        self.answers = [int(value * scale) for value in costs.answers]
        self.overhead = int(costs.overhead * scale)
        self.density = multiples_of(problem.bounds)

    def of(self, parts: Parts) -> int:
        """What a partition costs, as `exact_rate` has it: parts by what they read, the most first."""
        read = sorted(((max(self.reads[g] for g in part), part[0]) for part in parts), reverse=True)
        total, before, times = 0, 0, 0
        for cost, first in read:
            times |= 1 << first  # groups are in the order of their bounds: a part runs at that of its first
            total += cost * (self.density[times] - before)
            before = self.density[times]
        answers = sum(self.answers[g] * self.density[1 << part[0]] for part in parts for g in part)
        return total + answers + self.overhead * before


def multiples_of(bounds: Sequence[int]) -> list[int]:
    """For every set of bounds how many of the times up to the least common multiple of all are a multiple of one."""
    period = lcm(*bounds)
    shared = [1] * (1 << len(bounds))  # the least common multiple of each set
    for members in range(1, len(shared)):
        low = members & -members
        shared[members] = lcm(shared[members ^ low], bounds[low.bit_length() - 1])
    found = [0] + [period // shared[m] * (1 if m.bit_count() % 2 else -1) for m in range(1, len(shared))]
    for bit in (1 << i for i in range(len(bounds))):  # sums over all subsets
        for members in range(len(found)):
            if members & bit:
                found[members] += found[members ^ bit]
    return found


def merged_neighbours(problem: ScheduleProblem) -> Parts:
    """The best partition on the way from one part a bound to one part for all: some that are likely, then priced."""
    size, likely = len(problem.groups), estimator(problem)
    way, parts = [], close_bounds(problem.bounds)
    while len(parts) > 1:
        way.append(parts)
        parts = min(neighbour_merges(parts), key=likely)
    way = [polish(found, size, likely) for found in sorted(way, key=likely)[:LIKELY]]
    return min([[[g] for g in range(size)], [list(range(size))], *way], key=lambda found: part_cost(problem, found))


def estimator(problem: ScheduleProblem) -> Callable[[Parts], float]:
    """About what a partition costs, in little time: as `exact_rate`, with coincidences taken for independent.

    Of the multiples of p that are multiples of no earlier part's period q, there are 1/p · Π (1 − p / lcm(p, q)): exact
    where periods have no common factor, and where one divides the other.
    """
    bounds = problem.bounds
    apart = [[1 - p / lcm(p, q) for q in bounds] for p in bounds]
    reads, answers = ([float(v) for v in values] for values in (problem.costs.reads, problem.costs.answers))
    overhead = float(problem.costs.overhead)

    def estimate(parts: Parts) -> float:
        read = sorted(((max(reads[g] for g in part), part[0]) for part in parts), reverse=True)
        new = (prod((apart[first][other] for _, other in read[:i]), start=1 / bounds[first])
               for i, (_, first) in enumerate(read))
        own = sum(sum(answers[g] for g in part) / bounds[part[0]] for part in parts)
        return own + sum((overhead + cost) * times for (cost, _), times in zip(read, new, strict=True))

    return estimate


def neighbour_merges(parts: Parts) -> Iterator[Parts]:
    """The partitions that merge two neighbours."""
    for i in range(len(parts) - 1):
        yield [*parts[:i], parts[i] + parts[i + 1], *parts[i + 2 :]]


def polish(parts: Parts, size: int, likely: Callable[[Parts], float]) -> Parts:
    """The partition after moving single groups to other parts, or to one of their own, as long as that gains."""
    for group in [*range(size)] * ROUNDS:
        best = min(moves(parts, group), key=likely)
        if likely(best) < likely(parts):
            parts = best
    return parts


def moves(parts: Parts, group: int) -> Iterator[Parts]:
    """The partitions in which a group stands in another part, or alone."""
    rest = [part for part in ([g for g in part if g != group] for part in parts) if part]
    yield sorted([*rest, [group]])
    for i in range(len(rest)):
        yield sorted([*rest[:i], sorted([*rest[i], group]), *rest[i + 1 :]])


def part_cost(problem: ScheduleProblem, parts: Parts) -> Fraction:
    """What a partition costs."""
    merged = merge_groups(problem, parts)
    return cost_rate(merged, steady_schedule(merged.bounds)).cost


hybrid = Policy(
    "hybrid", "Hybrid", "The cheapest partition of the groups, each part at its smallest bound.", "003", schedule,
)
