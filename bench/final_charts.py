"""The results of the benches of final algorithms as charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from final_tables import VIEW, pick, unique
from plots import Box, Line, Panel, chart

Record = dict[str, Any]

# A member keeps its colour in all charts. The paper's members and the others stand in panels of their own.
PAPER = {"slick_deque": 0, "slick_deque_inv": 0, "two_stacks": 1, "daba": 2, "flat_fit": 3, "b_int": 4, "flat_fat": 5,
         "recalc": 6, "panes_inv": 7}
BEYOND = {"prefix": 0, "doubling": 1, "chain": 2, "binary": 3, "disjoint": 4, "block": 5, "block_jit": 6}
DRAWN = ("max float64", "sum int64")


def lines(records: Sequence[Record], colours: dict[str, int], x: str, y: Callable[[Record], float],
          dashed: bool = False) -> list[Line]:
    """A line for each member that has more than one point."""
    made = []
    for name, colour in colours.items():
        points = sorted((r[x], y(r)) for r in records if r["member"] == name and seen(r))
        if len(points) > 1:
            made.append(Line(name, points, colour, dashed))
    return made


def seen(record: Record) -> bool:
    """Whether something was measured that is more than a view."""
    return "kept" in record or record.get("ns", 0) >= VIEW


def rate(record: Record) -> float:
    """Millions a second."""
    return 1e3 / record["ns"]


def single_charts(results: dict[str, Any]) -> dict[str, str]:
    """Throughput of one range (Fig. 11) and latency (Fig. 14)."""
    made = {}
    for kind in DRAWN:
        mine = pick(results["rates"], kind=kind)
        paper = [r for r in mine if r["via"] == ("slide" if r["member"] == "recalc" else "advance")]
        panels = [Panel("the paper's members, by advance", "slices a window", "million slides a second",
                        lines(paper, PAPER, "window", rate)),
                  Panel("bulk members, by slide", "slices a window", "million slides a second",
                        lines(pick(mine, via="slide"), BEYOND, "window", rate))]
        made[f"final_single_{kind.split()[0]}"] = chart(f"One range, {kind}: throughput", panels)
    return made | {"final_latency": latency_chart(results["latency"])}


def latency_chart(records: Sequence[Record]) -> str:
    """Boxes of nanoseconds and of combines, at the middle window."""
    window = unique(records, "window")[1][0]
    panels = []
    for kind in DRAWN:
        mine = [r for r in pick(records, kind=kind, window=window) if "ns" in r]
        panels.append(Panel(f"{kind}: time", "", "nanoseconds a slide above an empty call",
                            boxes=[box(r, "ns", 1.0, r["empty_ns"]) for r in mine]))
        panels.append(Panel(f"{kind}: work", "", "combines a slide",
                            boxes=[box(r, "combines", 0.5) for r in mine]))
    return chart(f"Latency of one slide, {window:,} slices a window", panels)


def box(record: Record, measure: str, floor: float, less: float = 0.0) -> Box:
    """A distribution as a box, less a constant; nothing lies below the floor of a logarithmic axis."""
    least, low, median, high, p99, most = (max(record[measure][s] - less, floor)
                                           for s in ("min", "p25", "median", "p75", "p99", "max"))
    return Box(record["member"], least, low, median, high, p99, most, PAPER[record["member"]])


def multi_charts(results: dict[str, Any]) -> dict[str, str]:
    """Answers a second with all ranges 1 … n (Fig. 12), and memory (Fig. 13)."""
    panels, kept = [], []
    for kind in DRAWN:
        mine = [r for r in pick(results["rates"], kind=kind) if r["case"].startswith("1…")]
        paper = [r for r in mine if r["via"] == ("slide" if r["member"] == "recalc" else "advance")]
        panels.append(Panel(f"{kind}: the paper's members, by advance", "ranges 1 … n", "million answers a second",
                            lines(paper, PAPER, "ranges", rate)))
        panels.append(Panel(f"{kind}: bulk members, by slide", "ranges 1 … n", "million answers a second",
                            lines(pick(mine, via="slide"), BEYOND, "ranges", rate)))
        memory = [r for r in pick(results["memory"], kind=kind) if r["case"].startswith("1…")]
        others = lines(memory, dict.fromkeys(BEYOND, 1), "ranges", lambda r: r["kept"], dashed=True)[:1]
        kept.append(Panel(kind, "ranges 1 … n", "bytes kept between two calls",
                          [*lines([r for r in memory if r["member"] != "recalc"], PAPER, "ranges", lambda r: r["kept"]),
                           *(replace(line, name="every bulk member") for line in others)]))
    return {"final_multi": chart("All ranges 1 … n at once: throughput", panels),
            "final_memory": chart("All ranges 1 … n at once: memory", kept)}


def ragged_charts(results: dict[str, Any]) -> dict[str, str]:
    """Answers a second by density, read by index and made dense first."""
    panels = []
    for span in [s for (s,) in unique(results["rates"], "span")]:
        mine = [r | {"percent": 100 * r["density"]} for r in pick(results["rates"], kind="sum float64", span=span)]
        for way in ("index", "dense first"):
            here = pick(mine, way=way)
            drawn = lines(here, PAPER, "percent", rate) + lines(here, BEYOND, "percent", rate, dashed=True)
            panels.append(Panel(f"range {span} min, {'read by index' if way == 'index' else 'made dense first'}",
                                "slices that are there, %", "million answers a second", drawn))
    return {"final_ragged": chart("Many keys with gaps, sum float64", panels)}


def deque_charts(results: dict[str, Any]) -> dict[str, str]:
    """Mean deque length beside both formulas."""
    named = (("measured", "mean", 0, False), ("H_n", "harmonic", 1, True), ("Σ 1/i! (Eq. 7)", "printed", 5, True))
    drawn = [Line(name, [(r["window"], r[field]) for r in results["lengths"]], colour, dashed, not dashed)
             for name, field, colour, dashed in named]
    panel = Panel("max of i.i.d. doubles", "slices a window", "mean slices in the deque", drawn)
    return {"deque_length": chart("SlickDeque's deque", [panel])}


CHARTS: dict[str, Callable[[dict[str, Any]], dict[str, str]]] = {
    "final_single": single_charts, "final_multi": multi_charts, "final_ragged": ragged_charts,
    "final_numerics": lambda results: {}, "deque_length": deque_charts,
}
