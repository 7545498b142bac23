"""The results of the benches of plans as charts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from final_tables import pick, unique
from plan_plots import Area, Line, picture
from plan_tables import TITLES, VARIED, bare_speed, by_largest, estimated_speed, mean, whole_speed
from schedule_charts import schedule_chart

Record = dict[str, Any]
Results = dict[str, Any]

COLOUR = {"weave_share": 0, "local_search_ns_10x": 1, "insert_then_weave": 2, "share_all": 3, "random_share": 4,
          "no_share": 5}
TECHNIQUE = {"panes": 0, "flat_fat": 1, "flat_fit": 2, "slick_deque_inv": 3, "slick_deque_printed": 4, "slick_deque": 5}


def points(records: Iterable[Record], x: str, y: str) -> list[tuple[float, float]]:
    """The mean of one field for each value of another."""
    found = list(records)
    return [(value, mean(pick(found, **{x: value}), y)) for value in sorted(v for (v,) in unique(found, x))]


def queries_chart(results: Results) -> str:
    """Costs by policy, normalised costs and trees."""
    plans = results["plans"]
    areas = [Area(f"{figure}: rate {rate}", "queries", "operations a second",
                  [Line(TITLES[p], points(pick(plans, rate=rate, policy=p), "queries", "cost"), colour)
                   for p, colour in COLOUR.items()], log_across=False)
             for rate, figure in ((50, "Fig. 4"), (300, "Fig. 5"))]
    by_rate = {rate: pick(plans, rate=rate) for rate in results["rates"]}
    shares = [Line(f"rate {rate:,}", ratio(mine), i) for i, (rate, mine) in enumerate(by_rate.items())]
    trees = [Line(f"rate {rate:,}", points(pick(mine, policy="weave_share"), "queries", "trees"), i)
             for i, (rate, mine) in enumerate(by_rate.items())]
    areas.append(Area("Fig. 6: Weave Share by Shared", "queries", "cost / Shared's", shares, (), False, False))
    areas.append(Area("Fig. 7: Weave Share's trees", "queries", "trees", trees, (), False, False))
    return picture("Plans by number of queries (000 Fig. 4–7)", areas)


def ratio(plans: Sequence[Record]) -> list[tuple[float, float]]:
    """Weave Share's mean cost by Shared's."""
    woven, shared = (points(pick(plans, policy=p), "queries", "cost") for p in ("weave_share", "share_all"))
    return [(size, cost / other) for (size, cost), (_, other) in zip(woven, shared, strict=True)]


def normalised(title: str, row: str, column: str, log_across: bool) -> Callable[[Results], str]:
    """Weave Share's cost by Shared's."""

    def draw(results: Results) -> str:
        plans = results["plans"]
        lines = [Line(f"{row} {value:,}", points(pick(plans, **{row: value}), column, "normalised"), i)
                 for i, (value,) in enumerate(unique(plans, row))]
        return picture(title, [Area("Weave Share by Shared", column, "cost / Shared's", lines, (), log_across, False)])

    return draw


def techniques_chart(results: Results) -> str:
    """Costs by technique, WeaveShare left and TriWeave right."""
    plans, areas = results["plans"], []
    for varied, (figure, about) in VARIED.items():
        for policy in ("weave_share", "tri_weave"):
            mine = pick(plans, varied=varied, policy=policy)
            lines = [Line(t, points(pick(mine, technique=t), "value", "cost"), c) for t, c in TECHNIQUE.items()]
            areas.append(Area(f"{figure}: {TITLES[policy]}", about, "operations a second", lines, (), varied != "skew"))
    return picture("Plans by final technique (001 Fig. 17–21)", areas)


def counting_chart(results: Results) -> str:
    """Seconds to count by way."""
    counts, areas = results["counts"], []
    for (name,) in unique(counts, "workload"):
        mine = [c for c in pick(counts, workload=name) if "seconds" in c]
        lines = [Line(way, points(pick(mine, way=way), "queries", "seconds"), i)
                 for i, (way,) in enumerate(unique(mine, "way"))]
        areas.append(Area(name, "queries", "seconds to count edges", lines))
    return picture("Counting edges (001 Fig. 16)", areas, columns=3)


def incremental_chart(results: Results) -> str:
    """Comparisons by deviation, a point for each tolerance."""
    lines = []
    for i, (tolerance,) in enumerate(unique(results["runs"], "tolerance")):
        mine = pick(results["runs"], tolerance=tolerance)
        lines.append(Line(f"ε = {tolerance}", [(100 * mean(mine, "deviation"), mean(mine, "compared"))], i))
    area = Area("deviation and overhead by tolerance", "mean deviation from the offline plan, %", "comparisons", lines,
                (), False)
    return picture("Incremental Weave Share (000 Fig. 11)", [area])


def optimizations_chart(results: Results) -> str:
    """Pairs, probes and seconds by variant."""
    areas = []
    for what, words in (("pairs", "pairs of trees compared"), ("probes", "edges probed"), ("seconds", "seconds")):
        here = [r for r in results["runs"] if what in r]
        lines = [Line(variant, points(pick(here, variant=variant), "queries", what), i)
                 for i, (variant,) in enumerate(unique(results["runs"], "variant")) if pick(here, variant=variant)]
        areas.append(Area(words, "queries", "", lines))
    return picture("What spares Weave Share work (000 Fig. 14)", areas, columns=3)


def throughput_chart(results: Results) -> str:
    """Measured against estimated throughput, a point for each technique; on the dashed line they agree."""
    areas = []
    for policy, figure in (("weave_share", "Fig. 22"), ("tri_weave", "Fig. 23")):
        plans = pick(results["plans"], policy=policy)
        for speed, about in ((whole_speed, "whole run"), (bare_speed, "cutting and folding only")):
            spots = list(zip(by_largest(plans, estimated_speed), by_largest(plans, speed), strict=True))
            lines = [Line(plan["technique"], [spot], TECHNIQUE[plan["technique"]])
                     for plan, spot in zip(plans, spots, strict=True)]
            least = min(value for spot in spots for value in spot)
            lines.insert(0, Line("equal", [(least, least), (1.0, 1.0)], 4, dashed=True, marked=False))
            areas.append(Area(f"{figure}: {TITLES[policy]}, {about}", "1 / cost, by the largest",
                              "answers a second, by the largest", lines))
    return picture("Estimated and measured throughput (001 Fig. 22–23)", areas)


CHARTS: dict[str, Callable[[Results], str]] = {
    "plan_queries": queries_chart,
    "plan_rate": normalised("Plans by input rate (000 Fig. 8)", "queries", "rate", True),
    "plan_overlap": normalised("Plans by largest overlap (000 Fig. 9)", "rate", "overlap", True),
    "plan_skew": normalised("Plans by slide skew (000 Fig. 10)", "queries", "skew", False),
    "plan_techniques": techniques_chart, "plan_counting": counting_chart, "plan_incremental": incremental_chart,
    "plan_optimizations": optimizations_chart, "plan_throughput": throughput_chart, "schedules": schedule_chart,
}
