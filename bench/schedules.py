"""Schedules (003): what the policies cost, on the paper's groups and on random ones, and what overload does to them.

    python bench/schedules.py [--real [--only b]] [--quick]

With --real the runner itself follows schedules on Spark (schedules_real.py). Else all of it is simulated, without
Spark: the paper's partitions and policies by value, 200 random sets of four groups by
the paper's costs and 40 by Weft's, and the paper's groups at capacities from 4 to 30. Less than a minute.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random
from typing import Any

from plan_common import arguments, finish, results_for, say

from weft.optimize.exhaustive import partitions
from weft.optimize.schedule import POLICIES, RunGroup, ScheduleProblem, find_policy, make_schedule
from weft.optimize.schedule.cost_rate import cost_rate
from weft.optimize.schedule.figures import group_figures
from weft.optimize.schedule.hybrid import part_cost
from weft.optimize.schedule.problem import MINUTE
from weft.optimize.schedule.simulate import Load, simulate
from weft.optimize.schedule.timetable import BoundsAlone, Timetable

Record = dict[str, Any]
GROUPS = 4
BOUNDS, COSTS = (2, 30), (5, 60)  # distinct minutes and cost of random groups, all whole numbers equally likely
# Costs of a run: the paper's, and Weft's with an overhead and answers of about a tenth of what is read; how many sets.
FORMS = {"the paper's": (0, (0, 0), 200), "Weft's": (20, (1, 6), 40)}
CAPACITIES = (4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 25, 30)
MINUTES = 3000


def groups_of(spelled: Sequence[tuple[int, int, int]], overhead: int = 0) -> ScheduleProblem:
    """Groups of (minutes, read, answers)."""
    made = (RunGroup(f"G{i}", bound * MINUTE, Fraction(read), Fraction(answers))
            for i, (bound, read, answers) in enumerate(spelled, 1))
    return ScheduleProblem(tuple(made), Fraction(overhead))


PAPER = groups_of([(2, 9, 0), (3, 14, 0), (5, 29, 0)])


def paper_choices(options: argparse.Namespace) -> list[Record]:
    """Every partition of the paper's groups, each part at its smallest bound."""
    return [{"parts": [[f"G{g + 1}" for g in part] for part in parts],
             "cost": float(part_cost(PAPER, parts) * MINUTE)} for parts in partitions(len(PAPER.groups))]


def paper_policies(options: argparse.Namespace) -> list[Record]:
    """Every policy on the paper's groups."""
    found = []
    for policy in POLICIES:
        schedule = make_schedule(policy, PAPER)
        rate = cost_rate(PAPER, schedule)
        found.append({"policy": policy.name, "cost": float(rate.per_minute), "period": schedule.period // MINUTE,
                      "runs": int(rate.runs * 30 * MINUTE), "best": schedule.best,
                      "times": [[run.at // MINUTE, run.members] for run in schedule.runs(0, schedule.period)]})
    return found


def random_sets(options: argparse.Namespace) -> list[Record]:
    """Every policy on random groups, by both forms of costs."""
    found = []
    for form, (overhead, answers, sets) in FORMS.items():
        say(f"random sets, {form} costs")
        random = Random(0)
        for number in range(10 if options.quick else sets):
            bounds = sorted(random.sample(range(BOUNDS[0], BOUNDS[1] + 1), GROUPS))
            spelled = [(bound, random.randint(*COSTS), random.randint(*answers)) for bound in bounds]
            problem = groups_of(spelled, overhead)
            found.append({"form": form, "set": number, "groups": spelled, "overhead": overhead}
                         | {policy.name: priced(policy.name, problem) for policy in POLICIES})
    return found


def priced(name: str, problem: ScheduleProblem) -> Record:
    """What a policy's schedule costs a minute, and the seconds it took to find."""
    begun = time.thread_time()
    schedule = make_schedule(find_policy(name), problem)
    took = time.thread_time() - begun
    return {"cost": float(cost_rate(problem, schedule).per_minute), "best": schedule.best, "seconds": took}


def overload(options: argparse.Namespace) -> list[Record]:
    """The paper's groups at every capacity: without a schedule and by policy, merged and apart."""
    say("capacities")
    timetables: dict[str, Timetable] = {"no schedule": BoundsAlone(PAPER.bounds)}
    timetables |= {policy.name: make_schedule(policy, PAPER) for policy in POLICIES}
    capacities = CAPACITIES[::4] if options.quick else CAPACITIES
    return [{"capacity": capacity, "timetable": name, "merge": merge, **loaded(timetable, capacity, merge)}
            for capacity in capacities for name, timetable in timetables.items() for merge in (True, False)]


def loaded(timetable: Timetable, capacity: int, merge: bool) -> Record:
    """Executions a minute, gaps and ages in minutes, and how many executions came too late."""
    until = MINUTES * MINUTE
    found = simulate(PAPER, timetable, until, Load(Fraction(capacity), merge))
    groups = [group_figures(found.runs, g, bound, until) for g, bound in enumerate(PAPER.bounds)]
    executed = sum(group.runs for group in groups)
    return {"executed": executed / MINUTES, "runs": len(found.runs), "utilisation": found.busy / until,
            "missed": sum(group.missed for group in groups) / executed,
            "gaps": [float((group.mean_gap or 0) / MINUTE) for group in groups],
            "ages": [float((group.mean_age or 0) / MINUTE) for group in groups]}


# What is measured, by its name in the results; a part that needs Spark is one more function here.
PARTS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "choices": paper_choices,
    "policies": paper_policies,
    "random": random_sets,
    "overload": overload,
}


def main() -> None:
    """Simulates all parts, or runs the real ones."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--real", action="store_true", help="the real runner on real data, in less than four minutes")
    parser.add_argument("--only", choices=("b",), help="of the real runner only the part under overload, again")
    options = arguments(__doc__, parser)
    if options.real:
        from schedules_real import measure

        finish("schedules_real", results_for(options) | measure(options))
        return
    results = results_for(options, groups=GROUPS, bounds=BOUNDS, costs=COSTS, minutes=MINUTES)
    finish("schedules", results | {name: part(options) for name, part in PARTS.items()})


if __name__ == "__main__":
    main()
