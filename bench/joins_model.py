"""004 Fig. 1, Example 1 and Fig. 6–10: join orders and drop boxes by the rate model, without Spark.

    python bench/joins_model.py [--quick]

Fig. 7–10 are 1000 random queries over the streams of 004 Table 2, at each level of resources: every left-deep order
(cross products too) with its best drop boxes, and dynamic programming. The same for windows of time, which the paper
leaves open, on fewer queries: over Table 2, and over streams that differ much more. Half a minute on two cores.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from statistics import fmean
from typing import Any

import joins_page
import numpy as np
from common import machine, measured, save_json
from plan_common import arguments, say

from weft.cost.joins.drop_boxes.knapsack import coefficients
from weft.cost.joins.estimate import estimate
from weft.cost.joins.filters import Filter, FilterPlan
from weft.cost.joins.join_cost import symmetric_cost
from weft.cost.joins.left_deep import Order, PlanLoad, load_of, orders
from weft.cost.joins.problem import BY_KEYS, BY_ROWS, InputStream, JoinPredicate, JoinProblem
from weft.model.window import ROW_COUNT, TIME
from weft.optimize.join_order.dynamic_programming import dynamic_programming
from weft.optimize.join_order.exhaustive import exhaustive

Outputs = dict[Order, float]
SEED, QUERIES, TIMED, WIDE = 1, 1000, 30, 200
LEVELS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.01)
TIMED_LEVELS = (0.9, 0.6, 0.3, 0.1)
MILLISECONDS = (0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 10, 12, 14, 17, 20, 25, 30, 40, 50, 60, 70, 80, 90,
                100)
PLANS = {"a": (0, 1, 2), "b": (1, 2, 0), "c": (0, 2, 1)}
FIGURE_1 = (Filter(0.0005, 0.25), Filter(0.001, 0.5))
# 004 Table 2.
WINDOWS = {"A": 100.0, "B": 300.0, "C": 500.0, "D": 400.0, "E": 1000.0}
PREDICATES = (JoinPredicate("A", "B", 0.2), JoinPredicate("A", "C", 0.5), JoinPredicate("B", "D", 0.1),
              JoinPredicate("D", "E", 0.001))


def main() -> None:
    """Computes all figures, keeps the raw results and draws the page."""
    options = arguments(__doc__)
    sizes = (100, 5, 20) if options.quick else (QUERIES, TIMED, WIDE)
    results: dict[str, Any] = {"machine": machine(), "quick": options.quick}
    took = measured(lambda: results.update(measure(*sizes)))
    results |= {"seconds": took["wall"], "processor_seconds": took["cpu"]}
    joins_page.show(results)
    print(f"raw results: {save_json('tmp/joins_model' if options.quick else 'joins_model', results)}")
    if not options.quick:
        print(f"page: {joins_page.publish(results)}")


def measure(queries: int, timed: int, wide: int) -> dict[str, Any]:
    """All figures, with so many random queries of each kind."""
    rates = random_rates(max(queries, timed))
    sets = {"rows": ([query_of(r, ROW_COUNT) for r in rates[:queries]], LEVELS),
            "time": ([query_of(r, TIME) for r in rates[:timed]], TIMED_LEVELS),
            "wide": (wide_queries(wide), TIMED_LEVELS)}
    found: dict[str, Any] = {"filters": filter_plans(), "example": list(example_plans()),
                             "throughput": list(throughput(ROW_COUNT)), "time": list(throughput(TIME))}
    with ProcessPoolExecutor() as pool:
        for name, (problems, levels) in sets.items():
            say(f"{len(problems)} queries: {name}")
            tasks = [(problem, levels) for problem in problems]
            found[f"{name}_levels"] = summed(levels, list(pool.map(compare, tasks, chunksize=5)))
    return found | {"queries": queries, "timed_queries": timed, "wide_queries": wide, "seed": SEED}


def filter_plans() -> list[dict[str, Any]]:
    """Fig. 1: two filters in both orders."""
    plans = {"A": FilterPlan(1000, FIGURE_1), "B": FilterPlan(1000, FIGURE_1[::-1])}
    return [{"plan": name, "utilisation": plan.utilisation, "kept": plan.kept, "output": plan.output}
            for name, plan in plans.items()]


def example_1(milliseconds: float, windows: str = ROW_COUNT, shed_by: str = BY_ROWS) -> JoinProblem:
    """Example 1; windows of time hold its ten rows at the full rate."""
    rates = {"A": 10.0, "B": 70.0, "C": 20.0}
    streams = tuple(InputStream(n, r, 10.0 if windows == ROW_COUNT else 10 / r) for n, r in rates.items())
    predicates = (JoinPredicate("A", "B", 0.5), JoinPredicate("B", "C", 0.2))
    return JoinProblem(streams, predicates, symmetric_cost(milliseconds / 1000), windows, shed_by)


def example_plans() -> Iterator[dict[str, Any]]:
    """Example 1 at the two join costs of the text."""
    for ms in (0.5, 3.0):
        for name, order in PLANS.items():
            plan = estimate(example_1(ms), order)
            yield {"ms": ms, "plan": name, "cost": plan.cost, "utilisation": plan.utilisation, "output": plan.output}


def throughput(windows: str) -> Iterator[dict[str, Any]]:
    """Fig. 6: the output of each plan by join cost; for windows of time also the best one by keys."""
    for ms in MILLISECONDS:
        found = {name: estimate(example_1(ms, windows), order).output for name, order in PLANS.items()}
        keys = {"keys": exhaustive.choose(example_1(ms, TIME, BY_KEYS)).output} if windows == TIME else {}
        yield {"ms": ms, **found, **keys}


def random_rates(count: int) -> list[tuple[float, ...]]:
    """Rates between 10 and 1000 rows a second for every stream of every query."""
    chance = random.Random(SEED)
    return [tuple(chance.uniform(10, 1000) for _ in WINDOWS) for _ in range(count)]


def query_of(rates: Sequence[float], windows: str) -> JoinProblem:
    """A query of Table 2; windows of time hold its windows' rows at the full rate."""
    streams = tuple(InputStream(name, rate, size if windows == ROW_COUNT else size / rate)
                    for (name, size), rate in zip(WINDOWS.items(), rates, strict=True))
    return JoinProblem(streams, PREDICATES, symmetric_cost(1.0), windows)


def wide_queries(count: int) -> list[JoinProblem]:
    """Windows of time over three to five streams whose rates, windows and selectivities differ by powers of ten."""
    chance = random.Random(SEED)
    return [wide_query(chance, names) for names in chance.choices(("ABC", "ABCD", "ABCDE"), k=count)]


def wide_query(chance: random.Random, names: str) -> JoinProblem:
    """Streams of 0.1 to 10,000 rows a second, windows of 0.1 to 1000 s, each stream joined with one before it."""
    streams = tuple(InputStream(name, 10 ** chance.uniform(-1, 4), 10 ** chance.uniform(-1, 3)) for name in names)
    pairs = [(name, chance.choice(names[:place])) for place, name in enumerate(names) if place]
    predicates = tuple(JoinPredicate(a, b, 10 ** chance.uniform(-5, 0)) for a, b in pairs)
    return JoinProblem(streams, predicates, symmetric_cost(1.0), TIME)


def compare(task: tuple[JoinProblem, Sequence[float]]) -> list[dict[str, float]]:
    """One query at each level: the output of the plan that takes least, of the best one, and of dynamic programming."""
    problem, levels = task
    loads = {order: load_of(problem, order) for order in orders(problem)}
    cheapest = min(loads, key=lambda order: loads[order].tuples)
    problems = [replace(problem, cost=symmetric_cost(1 / (level * loads[cheapest].tuples))) for level in levels]
    every = outputs_of_rows(loads, problems) if problem.windows == ROW_COUNT else outputs_of_time(loads, problems)
    return [at_level(one, outputs, cheapest) for one, outputs in zip(problems, every, strict=True)]


def outputs_of_time(loads: Mapping[Order, PlanLoad], problems: Sequence[JoinProblem]) -> list[Outputs]:
    """What each order gives in each problem."""
    return [{order: estimate(problem, order).output for order in loads} for problem in problems]


def outputs_of_rows(loads: Mapping[Order, PlanLoad], problems: Sequence[JoinProblem]) -> list[Outputs]:
    """The same for windows of rows: the best stream comes first whatever a join takes, so output over resources is one
    line of straight pieces for each order, which all levels are read from."""
    lines = {order: output_line(load) for order, load in loads.items()}
    return [{order: float(np.interp(1 / problem.cost.of_left, *line)) for order, line in lines.items()}
            for problem in problems]


def output_line(load: PlanLoad) -> tuple[np.ndarray, np.ndarray]:
    """By resources in rows a second, the output of one order: streams come by what they give for what they take."""
    taken, given = map(np.array, coefficients(load))
    ranked = np.argsort(-given / taken, kind="stable")
    return np.append(0.0, taken[ranked].cumsum()), np.append(0.0, given[ranked].cumsum())


def at_level(problem: JoinProblem, outputs: Outputs, cheapest: Order) -> dict[str, float]:
    """The outputs that Fig. 7–10 compare, at one join cost."""
    found = dynamic_programming.choose(problem)
    return {"cheapest": outputs[cheapest], "best": max(outputs.values()), "dynamic": found.output,
            "retuned": outputs[found.order]}


def summed(levels: Sequence[float], queries: list[list[dict[str, float]]]) -> list[dict[str, float]]:
    """What Fig. 7–10 show of all queries at each level."""
    return [summary(level, [query[place] for query in queries]) for place, level in enumerate(levels)]


def summary(level: float, found: Sequence[dict[str, float]]) -> dict[str, float]:
    """One level: who needs another plan, gains by it, and how far dynamic programming is from the best."""
    gains = [q["best"] / q["cheapest"] - 1 for q in found]
    gainers = [gain for gain in gains if gain > 1e-9]
    errors = [1 - q["dynamic"] / q["best"] for q in found]
    return {"level": level, "need": len(gainers) / len(found), "gain": fmean(gains), "gainers": fmean(gainers or [0.0]),
            "greatest": max(gains), "error": fmean(errors), "greatest_error": max(errors),
            "retuned_error": fmean(1 - q["retuned"] / q["best"] for q in found)}


if __name__ == "__main__":
    main()
