"""Draws the tables and the chart of the bench of join orders from the kept results; the words of its page stay.

    python bench/joins_page.py
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pages
from common import RESULTS
from final_tables import Sheet
from plan_plots import Area, Line, picture

Results = dict[str, Any]
Record = dict[str, Any]

NAME = "joins_model"
SHOWN_MS = (0.5, 2.5, 3.5, 5, 10, 14, 20, 50, 100)
PLANS = {"a": "a: (AB)C", "b": "b: (BC)A", "c": "c: (AC)B"}
# What 004's text says of its figures: in percent, by percent of saturation.
PRINTED = {"need": {60: "> 50"}, "gain": {60: "≈ 4", 1: "≈ 700"}, "error": {1: "28"}}


def main() -> None:
    """Redraws everything."""
    print(f"{NAME}: {publish(json.loads((RESULTS / f'{NAME}.json').read_text()))}")


def publish(results: Results) -> Path:
    """Writes the chart and the tables."""
    how = f"{results['processor_seconds']:.0f} s of processor time, {results['seconds']:.0f} s on the clock"
    measured = pages.describe_machine(results["machine"], ("python",), how)
    return pages.publish(NAME, sheets(results), {NAME: chart(results)}, measured)


def show(results: Results) -> None:
    """The tables on the terminal."""
    pages.show(sheets(results))


def sheets(results: Results) -> list[Sheet]:
    """All tables."""
    return [filters_sheet(results["filters"]), example_sheet(results["example"]),
            figure_6(results["throughput"]), levels_sheet(results), time_sheet(results["time"]), timed_sheet(results)]


def filters_sheet(plans: Sequence[Record]) -> Sheet:
    """Fig. 1."""
    rows = [[p["plan"], f"{100 * p['utilisation']:.0f} %", f"{100 * p['kept']:.0f} %", f"{p['output']:.1f}"]
            for p in plans]
    heads = ("plan", "utilisation", "kept", "output rows/s")
    return Sheet("joins fig 1", "Two filters in both orders (Fig. 1)", heads, rows)


def example_sheet(plans: Sequence[Record]) -> Sheet:
    """Example 1."""
    rows = [[f"{p['ms']:g} ms", PLANS[p["plan"]], f"{p['cost']:.0f}", f"{100 * p['utilisation']:.0f} %",
             f"{p['output']:.1f}"] for p in plans]
    note = "Plan a takes 78.6 % more than plan b (500 / 280); the paper prints 170 %."
    return Sheet("joins example 1", "Example 1", ("join", "plan", "rows/s into joins", "utilisation", "output rows/s"),
                 rows, (note,))


def figure_6(records: Sequence[Record]) -> Sheet:
    """Fig. 6."""
    rows = [[f"{r['ms']:g}", *(f"{r[plan]:.1f}" for plan in PLANS)] for r in records if r["ms"] in SHOWN_MS]
    title = "Output rows/s by join cost, windows of ten rows (Fig. 6)"
    return Sheet("joins fig 6", title, ("join ms", *PLANS.values()), rows)


def time_sheet(records: Sequence[Record]) -> Sheet:
    """The same with windows of time."""
    rows = [[f"{r['ms']:g}", *(f"{r[plan]:.1f}" for plan in (*PLANS, "keys"))] for r in records if r["ms"] in SHOWN_MS]
    heads = ("join ms", *PLANS.values(), "by keys, best plan")
    return Sheet("joins time", "The same with windows of time that hold ten rows at the full rate", heads, rows)


def levels_sheet(results: Results) -> Sheet:
    """Fig. 7–10."""
    title = f"{results['queries']} random queries of Table 2, in percent, by percent of saturation (Fig. 7–10)"
    return Sheet("joins table 2", title, *level_rows(results["rows_levels"], PRINTED))


def timed_sheet(results: Results) -> Sheet:
    """Windows of time: Table 2's streams, and streams that differ much more."""
    heads, rows = ["", *(f"{100 * r['level']:.0f}" for r in results["time_levels"])], []
    for key, streams in (("time_levels", "Table 2"), ("wide_levels", "wide")):
        lines = {"need": "need another plan", "greatest": "greatest gain", "error": "dynamic programming's error"}
        rows += [[f"{streams}: {words}", *(percent(r[line]) for r in results[key])] for line, words in lines.items()]
    title = (f"Windows of time, in percent, by percent of saturation: {results['timed_queries']} queries of Table 2 "
             f"(windows hold as many rows at the full rate), {results['wide_queries']} over streams that differ more")
    return Sheet("joins time levels", title, heads, rows)


def level_rows(levels: Sequence[Record], printed: dict[str, dict[int, str]]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows: one a figure, with what the paper says below it."""
    heads = ["", *(f"{100 * r['level']:.0f}" for r in levels)]
    lines = {"need": "Fig. 7: need another plan", "gain": "Fig. 8: mean gain", "gainers": "Fig. 9: mean among gainers",
             "greatest": "Fig. 9: greatest gain", "error": "Fig. 10: dynamic programming's error",
             "greatest_error": "its greatest error", "retuned_error": "its error with boxes retuned"}
    rows = []
    for key, words in lines.items():
        rows.append([words, *(percent(r[key]) for r in levels)])
        if key in printed:
            rows.append(["the paper", *(printed[key].get(round(100 * r["level"]), "") for r in levels)])
    return heads, rows


def percent(share: float) -> str:
    """A share in percent, in two digits where it is small."""
    value = 100 * share
    return "0" if value < 5e-4 else f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def chart(results: Results) -> str:
    """Fig. 6–10, and Fig. 6 with windows of time."""
    levels = results["rows_levels"]
    areas = [
        Area("Fig. 6: windows of rows", "join ms", "output rows/s", plan_lines(results["throughput"], PLANS), (), False,
             False),
        Area("the same, windows of time", "join ms", "output rows/s",
             plan_lines(results["time"], {**PLANS, "keys": "by keys, best"}), (), True, True),
        level_area("Fig. 7: need another plan", levels, {"need": "of all queries"}),
        level_area("Fig. 8 and 9: gain by the best plan", levels,
                   {"gain": "mean", "gainers": "among gainers", "greatest": "greatest"}, log=True),
        level_area("Fig. 10: error of dynamic programming", levels, {"error": "as in the paper",
                                                                     "retuned_error": "boxes retuned"}),
    ]
    return picture("Join orders with drop boxes (004 Fig. 6–10)", areas)


def plan_lines(records: Sequence[Record], plans: dict[str, str]) -> list[Line]:
    """A line a plan."""
    return [Line(words, [(r["ms"], r[plan]) for r in records], place)
            for place, (plan, words) in enumerate(plans.items())]


def level_area(title: str, levels: Sequence[Record], lines: dict[str, str], log: bool = False) -> Area:
    """Lines over percent of saturation resources; what is nothing has no place on a logarithmic axis."""
    drawn = [Line(words, [(100 * r["level"], 100 * r[key]) for r in levels if not log or r[key] > 1e-6], place)
             for place, (key, words) in enumerate(lines.items())]
    return Area(title, "percent of saturation resources", "percent", drawn, (), False, log)


if __name__ == "__main__":
    main()
