"""The results of the benches of plans as tables, with what the papers say beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import ceil
from typing import Any

from final_tables import Sheet, digits, pick, unique
from schedule_tables import real_sheets, schedule_sheets

Results = dict[str, Any]
Record = dict[str, Any]

TITLES = {"weave_share": "Weave Share", "local_search_ns_10x": "Local Search NS 10×", "share_all": "Shared",
          "insert_then_weave": "Insert-then-Weave", "random_share": "Random", "no_share": "No Share",
          "tri_weave": "TriWeave", "weave_polish": "Weave Share, polished"}
PRINTED_TREES = {"panes": "16.0", "flat_fat": "15.7", "flat_fit": "10.3", "slick_deque_inv": "4.8",
                 "slick_deque_printed": "4.8", "slick_deque": "4.8"}
VARIED = {"queries": ("Fig. 17", "number of queries"), "largest": ("Fig. 18", "largest slide"),
          "overlap": ("Fig. 19", "largest overlap"), "rate": ("Fig. 20", "input rate"),
          "skew": ("Fig. 21", "slide skew")}


def mean(records: Iterable[Record], field: str) -> float:
    """The mean of a field."""
    values = [r[field] for r in records if field in r]
    return sum(values) / len(values)


def cells(records: Sequence[Record], column: str, columns: Sequence[Any],
          cell: Callable[[list[Record]], str]) -> list[str]:
    """One text a column, from the records that belong there."""
    return [cell(found) if (found := pick(records, **{column: c})) else "…" for c in columns]


def numbers(values: Iterable[Any]) -> list[str]:
    """Values as headings."""
    return [f"{v:,}" if isinstance(v, int) else f"{v:g}" for v in values]


def queries_sheets(results: Results) -> list[Sheet]:
    """Costs by policy (Fig. 4, 5), normalised costs (Fig. 6) and trees (Fig. 7)."""
    sizes, plans = results["sizes"], results["plans"]
    figures = ((50, "Fig. 4"), (300, "Fig. 5"), (10_000, "left out there"))
    sheets = [costs_sheet(plans, rate, figure, sizes) for rate, figure in figures]
    shares = [[f"{rate:,}", *cells(pick(plans, rate=rate), "queries", sizes, share_of_shared)]
              for rate in results["rates"]]
    trees = [[f"{rate:,}", *cells(pick(plans, rate=rate, policy="weave_share"), "queries", sizes,
              lambda found: f"{mean(found, 'trees'):.1f}")] for rate in results["rates"]]
    heads = ("rate", *numbers(sizes))
    return [*sheets, Sheet("fig 6", "Weave Share's cost by Shared's, by queries (Fig. 6)", heads, shares),
            Sheet("fig 7", "Weave Share's trees, by queries (Fig. 7)", heads, trees)]


def costs_sheet(plans: Sequence[Record], rate: float, figure: str, sizes: Sequence[int]) -> Sheet:
    """Operations a second of every policy at one rate."""
    here = pick(plans, rate=rate)
    rows = [[TITLES[policy], *cells(pick(here, policy=policy), "queries", sizes, lambda f: digits(mean(f, "cost"))),
             *cells(pick(here, policy=policy), "queries", [max(r["queries"] for r in pick(here, policy=policy))],
                    lambda f: f"{mean(f, 'seconds'):.2f} at {f[0]['queries']:,}")]
            for policy in TITLES if pick(here, policy=policy)]
    return Sheet(f"rate {rate}", f"Operations a second at rate {rate:,}, by queries ({figure})",
                 ("policy", *numbers(sizes), "seconds to plan"), rows, search_notes(here))


def search_notes(plans: Sequence[Record]) -> list[str]:
    """Local Search beside Weave Share on the workloads it has solved, which are fewer."""
    woven = {(r["queries"], r["seed"]): r for r in pick(plans, policy="weave_share")}
    told = [f"{r['cost'] / woven[r['queries'], r['seed']]['cost']:.2f} ({r['queries']} queries, workload {r['seed']})"
            for r in pick(plans, policy="local_search_ns_10x")]
    return [f"Local Search's cost by Weave Share's on the same workloads: {', '.join(told)}."] if told else []


def share_of_shared(found: list[Record]) -> str:
    """Weave Share's mean cost by Shared's."""
    return f"{mean(pick(found, policy='weave_share'), 'cost') / mean(pick(found, policy='share_all'), 'cost'):.3f}"


def normalised(section: str, title: str, row: str, column: str) -> Callable[[Results], list[Sheet]]:
    """A table of Weave Share's cost by Shared's, with the number of trees in parentheses."""

    def sheets(results: Results) -> list[Sheet]:
        plans = results["plans"]
        columns = [c for (c,) in unique(plans, column)]
        rows = [[*numbers([value]), *cells(pick(plans, **{row: value}), column, columns,
                 lambda f: f"{mean(f, 'normalised'):.3f} ({mean(f, 'trees'):.3g})")] for (value,) in unique(plans, row)]
        return [Sheet(section, title, (f"{row} ↓ {column} →", *numbers(columns)), rows)]

    return sheets


def techniques_sheets(results: Results) -> list[Sheet]:
    """Costs of all experiments, and trees."""
    plans = results["plans"]
    sheets = [technique_sheet(pick(plans, varied=varied), varied) for (varied,) in unique(plans, "varied")]
    return [*sheets, trees_sheet(results), readings_sheet(results)]


def technique_sheet(plans: Sequence[Record], varied: str) -> Sheet:
    """Operations a second by technique and optimizer, and by how many times SlickDeque is cheaper at most."""
    values = [v for (v,) in unique(plans, "value")]
    rows = [[technique, TITLES[policy], *cells(pick(plans, technique=technique, policy=policy), "value", values,
             lambda f: digits(mean(f, "cost")))] for technique, policy in unique(plans, "technique", "policy")]
    woven = pick(plans, policy="weave_share")
    factors = {t: max(mean(pick(woven, technique=t, value=v), "cost")
                      / mean(pick(woven, technique="slick_deque_printed", value=v), "cost") for v in values)
               for t in ("panes", "flat_fat", "flat_fit")}
    ratio = max(abs(mean(pick(plans, technique=t, value=v, policy="tri_weave"), "cost")
                    / mean(pick(plans, technique=t, value=v, policy="weave_share"), "cost") - 1)
                for (t,) in unique(plans, "technique") for v in values)
    figure, about = VARIED[varied]
    notes = ("At most SlickDeque (Eq. 7 as printed) is cheaper than "
             + ", ".join(f"{t} {f:,.3g} times" for t, f in factors.items())
             + f". WeaveShare and TriWeave differ by at most {ratio:.0%}.",)
    return Sheet(f"technique {varied}", f"Operations a second by {about} ({figure})",
                 ("technique", "optimizer", *numbers(values)), rows, notes)


def trees_sheet(results: Results) -> Sheet:
    """Mean number of trees over all points of all experiments, and at the point they share."""
    plans, rows = results["plans"], []
    for (technique,) in unique(plans, "technique"):
        mine = pick(plans, technique=technique)
        shared = pick(mine, varied="rate", value=1.0)
        rows.append([technique, PRINTED_TREES[technique],
                     *(f"{mean(pick(records, policy=policy), 'trees'):.1f}" for records in (mine, shared)
                       for policy in ("weave_share", "tri_weave"))])
    heads = [f"{policy}, {where}" for where in ("all points", "base point") for policy in ("WeaveShare", "TriWeave")]
    return Sheet("trees", "Mean number of trees", ("technique", "001 prints", *heads), rows)


def readings_sheet(results: Results) -> Sheet:
    """Trees at the base point under each reading of the paper."""
    readings = results["readings"]
    names = [n for (n,) in unique(readings, "reading")]
    rows = [[technique, PRINTED_TREES[technique], *cells(pick(readings, technique=technique), "reading", names,
             lambda f: f"{mean(f, 'trees'):.1f}")] for (technique,) in unique(readings, "technique")]
    return Sheet("readings", "Weave Share's trees at the base point, by what is read into the paper",
                 ("technique", "001 prints", *names), rows)


def counting_sheets(results: Results) -> list[Sheet]:
    """Milliseconds to count, and seconds to plan."""
    sizes, counts, sheets = results["sizes"], results["counts"], []
    for number, (name,) in enumerate(unique(counts, "workload")):
        mine = pick(counts, workload=name)
        rows = [[way, *cells(pick(mine, way=way), "queries", sizes, milliseconds)] for (way,) in unique(mine, "way")]
        title = f"Milliseconds to count the edges of one tree, by queries: {name}"
        sheets.append(Sheet(f"counting {number + 1}", title, ("way", *numbers(sizes)), rows,
                            ("… not waited for; > terms: F1 has too many.",)))
    plans = results["plans"]
    rows = [[f"{r['merged']}, {r['queries']:,}", *(f"{other['seconds']:.3f}" for other in
             pick(plans, merged=r["merged"], queries=r["queries"])), "yes" if r["same"] else "NO"]
            for r in pick(plans, way="F1")]
    return [*sheets, Sheet("counting plans", "Seconds to plan 001's workload by Weave Share, panes, rate 1",
                           ("weaving", "F1", "packed bits", "same plan"), rows)]


def milliseconds(found: list[Record]) -> str:
    """A time, or why there is none."""
    if "seconds" in found[0]:
        return digits(1e3 * found[0]["seconds"])
    return "> terms" if "terms" in found[0]["skipped"] else "…"


def scale_sheets(results: Results) -> list[Sheet]:
    """Seconds and memory against the aims."""
    rows = [[f"{r['queries']:,} of {r['about']}", r["technique"], TITLES[r["policy"]],
             *scale_cells(r, results["memory_aim"])] for r in results["cases"]]
    return [Sheet("scale", "Planning on one core", ("workload", "technique", "optimizer", "trees", "seconds", "aim",
                  "peak GiB", "verdict"), rows,
                  (f"Aim for memory: at most {results['memory_aim']:g} GiB, the workload itself counted too.",)),
            polish_sheet(results["cases"])]


def polish_sheet(cases: Sequence[Record]) -> Sheet:
    """What polishing takes and gains beside Weave Share on the same workloads."""
    rows = []
    for polished in pick(cases, policy="weave_polish"):
        same = {field: polished[field] for field in ("about", "queries", "technique")}
        for woven in pick(cases, policy="weave_share", **same):
            if "seconds" in polished and "seconds" in woven:
                rows.append([f"{woven['queries']:,} of {woven['about']}", woven["technique"], digits(woven["seconds"]),
                             digits(polished["seconds"]), f"{polished['seconds'] / woven['seconds']:.2f}",
                             f"{polished['cost'] / woven['cost']:.3f}"])
    return Sheet("polish", "Weave Share, polished, by Weave Share", ("workload", "technique", "seconds, woven",
                 "seconds, polished", "time by Weave Share's", "cost by Weave Share's"), rows)


def scale_cells(record: Record, memory: float) -> list[str]:
    """Trees, seconds, aim, memory and the verdict of one case."""
    if "given_up" in record:
        return ["…", f"> {record['given_up']:g}", f"≤ {record['aim']:g}", "…", "NOT reached"]
    missed = [f"{record['seconds'] / record['aim']:.1f} × the time"] if record["seconds"] > record["aim"] else []
    missed += [f"{record['peak_gib'] / memory:.1f} × the memory"] if record["peak_gib"] > memory else []
    return [str(record["trees"]), digits(record["seconds"]), f"≤ {record['aim']:g}", f"{record['peak_gib']:.2f}",
            f"NOT reached: {', '.join(missed)}" if missed else "reached"]


def quality_sheets(results: Results) -> list[Sheet]:
    """How often plans are as good as the oracles' and how much worse the worst are."""
    cases, sheets = results["cases"], []
    for oracle, slack in (("Local Search 10×", 0.0), ("Exhaustive", 0.03)):
        rows = [quality_row(policy, pick(cases, oracle=oracle, policy=policy), slack)
                for (policy,) in unique(cases, "policy")]
        title = f"Against {oracle}: the part of {results['count']} workloads at most {1 + slack:g} times as dear"
        sheets.append(Sheet(f"quality {oracle}", title, ("policy", "within", "aim", "verdict", "as good or better",
                      "better", "mean", "worst", "seconds, mean", f"{oracle}'s"), rows))
    return [*sheets, misses_sheet(cases)]


def quality_row(policy: str, cases: Sequence[Record], slack: float) -> list[str]:
    """One policy against one oracle."""
    ratios = [c["cost"] / c["best"] for c in cases]
    within = sum(r <= 1 + slack + 1e-9 for r in ratios) / len(ratios)
    return [policy, f"{within:.1%}", "≥ 95 %", "reached" if within >= 0.95 else "NOT reached",
            f"{sum(r <= 1 + 1e-9 for r in ratios) / len(ratios):.1%}",
            f"{sum(r < 1 - 1e-9 for r in ratios) / len(ratios):.1%}", f"{sum(ratios) / len(ratios):.4f}",
            f"{max(ratios):.3f}", f"{mean(cases, 'seconds'):.4f}", f"{mean(cases, 'best_seconds'):.3f}"]


def misses_sheet(cases: Sequence[Record]) -> Sheet:
    """Where Weave Share falls short, by technique and generator."""
    mine = pick(cases, policy="Weave Share")
    rows = []
    for (technique,) in unique(mine, "technique"):
        row = [technique]
        for oracle, slack in (("Local Search 10×", 0.0), ("Exhaustive", 0.03)):
            for generator in ("weave", "tri", "any"):
                found = pick(mine, technique=technique, oracle=oracle, generator=generator)
                row.append(f"{sum(c['cost'] > c['best'] * (1 + slack + 1e-9) for c in found)} of {len(found)}")
        rows.append(row)
    heads = [f"{oracle}, {g}" for oracle in ("10×", "Exhaustive + 3 %") for g in ("000", "001", "arbitrary")]
    return Sheet("misses", "Weave Share's misses by technique and generator", ("technique", *heads), rows)


def incremental_sheets(results: Results) -> list[Sheet]:
    """Deviation and overhead by tolerance."""
    rows = []
    for (tolerance,) in unique(results["runs"], "tolerance"):
        mine = pick(results["runs"], tolerance=tolerance)
        rows.append([str(tolerance), f"{mean(mine, 'deviation'):.2%}", f"{max(r['worst'] for r in mine):.1%}",
                     f"{mean(mine, 'compared'):,.0f}", f"{mean(mine, 'rebuilt'):.1f}", f"{mean(mine, 'seconds'):.2f}"])
    title = f"Incremental Weave Share from {results['first']} to {results['last']} queries (Fig. 11)"
    return [Sheet("incremental", title, ("ε", "mean deviation", "worst", "comparisons", "woven anew", "seconds"), rows)]


def adding_sheets(results: Results) -> list[Sheet]:
    """Milliseconds to add and to delete against the aim."""
    rows = []
    for r in results["runs"]:
        worst = max(percentile(r["added"], 0.99), percentile(r["deleted"], 0.99))
        rows.append([f"{r['queries']:,}", r["technique"], str(r["trees"]),
                     *(digits(percentile(r[what], q)) for what in ("added", "deleted") for q in (0.5, 0.99)),
                     f"≤ {results['aim']:g}", "reached" if worst <= results["aim"] else "NOT reached",
                     digits(r["whole"])])
    title = f"Milliseconds to change a plan by one query, {results['changes']} times each"
    return [Sheet("adding", title, ("queries", "technique", "trees", "adding, median", "p99", "deleting, median", "p99",
                  "aim", "verdict", "weaving all anew"), rows)]


def percentile(values: Sequence[float], part: float) -> float:
    """The value that this part of all do not exceed."""
    return sorted(values)[max(ceil(part * len(values)) - 1, 0)]


def throughput_sheets(results: Results) -> list[Sheet]:
    """Estimated throughput beside the measured, each by its optimizer's largest (001 Fig. 22, 23)."""
    return [throughput_sheet(policy, pick(results["plans"], policy=policy)) for policy in ("weave_share", "tri_weave")]


def throughput_sheet(policy: str, plans: Sequence[Record]) -> Sheet:
    """One optimizer: a line for each technique."""
    estimated, whole, bare = (by_largest(plans, speed) for speed in (estimated_speed, whole_speed, bare_speed))
    rows = [[plan["technique"], str(plan["trees"]), digits(plan["cost"]), f"{a:.3f}", brief(whole_speed(plan)),
             f"{b:.3f}", brief(bare_speed(plan)), f"{c:.3f}"]
            for plan, a, b, c in zip(plans, estimated, whole, bare, strict=True)]
    heads = ("technique", "trees", "cost", "1 / cost, by the largest", "answers a second", "by the largest",
             "cutting and folding only", "by the largest")
    figure = "Fig. 22" if policy == "weave_share" else "Fig. 23"
    return Sheet(f"throughput {policy}", f"{TITLES[policy]}: estimated and measured throughput ({figure})", heads, rows,
                 (f"Estimated and measured differ by {apart(estimated, whole):.0%} of the largest on average, and the "
                  f"orders agree in {agreement(estimated, whole)} pairs of techniques; counting cutting and folding "
                  f"only, by {apart(estimated, bare):.0%}, and in {agreement(estimated, bare)}.",))


def estimated_speed(plan: Record) -> float:
    """The throughput of a plan by its cost."""
    return 1 / plan["cost"]


def whole_speed(plan: Record) -> float:
    """Answers a second of the whole run."""
    return plan["answers"] / plan["seconds"]


def bare_speed(plan: Record) -> float:
    """Answers a second of cutting rows and folding slices, without finding where windows begin and end."""
    return plan["answers"] / (plan["partial_seconds"] + plan["final_seconds"])


def by_largest(plans: Sequence[Record], speed: Callable[[Record], float]) -> list[float]:
    """Every plan's throughput by the largest of all."""
    values = [speed(plan) for plan in plans]
    return [value / max(values) for value in values]


def apart(ones: Sequence[float], others: Sequence[float]) -> float:
    """The mean difference."""
    return sum(abs(a - b) for a, b in zip(ones, others, strict=True)) / len(ones)


def agreement(ones: Sequence[float], others: Sequence[float]) -> str:
    """In how many pairs the larger of the ones is the larger of the others too."""
    pairs = [(i, j) for i in range(len(ones)) for j in range(i)]
    return f"{sum((ones[i] > ones[j]) == (others[i] > others[j]) for i, j in pairs)} of {len(pairs)}"


def optimizations_sheets(results: Results) -> list[Sheet]:
    """Pairs, probes and seconds by variant."""
    sizes, mine = results["sizes"], results["runs"]
    rows = [[variant, what, *cells(pick(mine, variant=variant), "queries", sizes, lambda f, w=what: work_text(f[0], w))]
            for (variant,) in unique(mine, "variant") for what in ("pairs", "probes", "seconds")
            if variant != "in use" or what == "seconds"]
    return [Sheet("optimizations", "Weave Share to the letter, by queries (Fig. 14)",
                  ("variant", "measure", *numbers(sizes)), rows, (f"… takes more than {results['limit']:g} seconds.",))]


def work_text(record: Record, what: str) -> str:
    """A measure of one run, if it was timed."""
    if what not in record:
        return "…"
    return digits(record["seconds"]) if what == "seconds" else brief(record[what])


def brief(value: float) -> str:
    """A count in few characters."""
    return f"{value:,.0f}" if value < 1e6 else f"{value / 1e6:,.1f}M"


BESIDE = "Weave Share's cost by Shared's, and its trees in parentheses"
SHEETS: dict[str, Callable[[Results], list[Sheet]]] = {
    "plan_queries": queries_sheets,
    "plan_rate": normalised("fig 8", f"{BESIDE}, by input rate (Fig. 8)", "queries", "rate"),
    "plan_overlap": normalised("fig 9", f"{BESIDE}, by largest overlap (Fig. 9)", "rate", "overlap"),
    "plan_skew": normalised("fig 10", f"{BESIDE}, by slide skew (Fig. 10)", "queries", "skew"),
    "plan_incremental": incremental_sheets, "plan_adding": adding_sheets, "plan_optimizations": optimizations_sheets,
    "plan_counting": counting_sheets, "plan_techniques": techniques_sheets, "plan_scale": scale_sheets,
    "plan_quality": quality_sheets, "plan_throughput": throughput_sheets, "schedules": schedule_sheets,
    "schedules_real": real_sheets,
}
