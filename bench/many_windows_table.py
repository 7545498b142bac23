"""The results of many_windows.py as a table for the terminal and a page for the docs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cases import CASES, STOCK
from common import DOCS, RESULTS, save
from rich.console import Console
from rich.table import Table

from weft.model import Window

HEADINGS = (
    "case", "cold s", "warm s", "add + plan s", "answers", "answers / s", "peak GiB", "one pass s", "× one pass",
    "Spark's own s", "× faster", "Polars s", "Polars .over s",
)


def cells(case: dict[str, Any]) -> list[str]:
    """One case as texts, in the order of the headings."""
    return [
        f"{case['name']}) {case['text']}",
        f"{case['cold']:.1f}",
        f"{case['weft']:.2f}",
        f"{case['prepare']:.2f}",
        f"{case['answers']:,}",
        f"{case['per_second'] / 1e6:.1f} M",
        f"{case['peak_bytes'] / 2**30:.1f}",
        f"{case['one_pass']:.2f}",
        f"{case['to_one_pass']:.2f}",
        native(case),
        f"{case['to_native']:,.0f}",
        f"{case['polars']:.2f}",
        f"{case['polars_over']:.2f}",
    ]


HAND_HEADINGS = ("Spark by hand", "form", "cold s", "best s", "processor s", "× one pass", "Weft × faster")


def hand_rows(results: dict[str, Any]) -> list[list[str]]:
    """Hand-written Spark, a line a form; a tilde where it was sampled."""
    found, cases = [], {case["name"]: case for case in results["cases"]}
    for each in results["handwritten"]:
        for form, ratio in cases[each["name"]]["to_handwritten"].items():
            run = each[form]
            about = "~" if run["sampled"] else ""
            best = run["best"]
            found.append([windows(cases[each["name"]]), form, "" if about else f"{run['cold']['wall']:.1f}",
                          f"{about}{best['wall']:.1f}", f"{about}{best['cpu']:.0f}",
                          f"{best['wall'] / each['one_pass']['wall']:.0f}", f"{ratio:.1f}"])
    return found


CPU_HEADINGS = ("processor seconds", "one pass", "Weft", "× one pass", "rows to the JVM", "Polars", "Polars .over")


def cpu_cells(case: dict[str, Any]) -> list[str]:
    """One case's processor seconds, which other work on the machine changes less than the clock."""
    ratio = f"{case['weft_cpu'] / case['one_pass_cpu']:.2f}"
    engines = ("one_pass_cpu", "weft_cpu", "weft_jvm_cpu", "polars_cpu", "polars_over_cpu")
    one_pass, weft, in_jvm, *polars = (f"{case[engine]:.1f}" for engine in engines)
    return [f"{case['name']}) {windows(case)}", one_pass, weft, ratio, in_jvm, *polars]


def windows(case: dict[str, Any]) -> str:
    """How many windows a case has."""
    return f"{case['queries']} window{'s' if case['queries'] > 1 else ''}"


def native(case: dict[str, Any]) -> str:
    """Spark's own seconds; an estimate carries a tilde."""
    return f"{'' if case['native_measured'] == case['queries'] else '~'}{case['native']:,.0f}"


def print_table(results: dict[str, Any]) -> None:
    """The table, the targets and how Spark's own was found, on the terminal."""
    console = Console(width=None if Console().is_terminal else 200)
    for headings, texts in ((HEADINGS, cells), (CPU_HEADINGS, cpu_cells)):
        table = Table(title=f"{results['rows']:,} rows, best of {results['repeat']}", title_justify="left")
        for number, heading in enumerate(headings):
            table.add_column(heading, justify="right" if number else "left")
        for case in results["cases"]:
            table.add_row(*texts(case))
        console.print(table)
    for row in (HAND_HEADINGS, *hand_rows(results)):
        console.print("".join(f"{text:>15}" for text in row), highlight=False)
    for line in [*targets(results), "", *how(results)]:
        console.print(line, highlight=False)


def targets(results: dict[str, Any]) -> list[str]:
    """One line a target: what was to be reached, what was measured, reached or not."""
    lines = []
    for case in CASES:
        for found in (each for each in results["cases"] if each["name"] == case.name):
            if case.passes:
                lines.append(target(found, f"at most {case.passes} × one pass", found["to_one_pass"], case.passes, -1))
            if case.spark and results["native"]:
                lines.append(target(found, f"at least {case.spark} × Spark's own", found["to_native"], case.spark, 1))
            if case.handwritten and found["to_handwritten"]:
                asked = f"at least {case.handwritten} × Spark by hand (frames)"
                lines.append(target(found, asked, found["to_handwritten"]["frames"], case.handwritten, 1))
            if case.polars:
                lines.append(target(found, "ahead of Polars with .over", found["to_polars_over"], 1, 1))
                lines.append(target(found, "ahead of Polars, fastest form", found["to_polars"], 1, 1))
    return lines


def target(found: dict[str, Any], text: str, value: float, bound: float, sign: int) -> str:
    """A target and its verdict."""
    verdict = "reached" if sign * value >= sign * bound else "NOT reached"
    return f"{windows(found)}: {text}: {value:,.2f} ×, {verdict}"


def how(results: dict[str, Any]) -> list[str]:
    """How each column was measured, in sentences that are true of this run."""
    samples = ", ".join(f"{Window(s['range'], s['slide'])}: {s['seconds']:.1f} s" for s in results["native"])
    start, slope = results["native_fit"]
    sessions = [case["session"] for case in results["cases"]]
    return [
        "cold: the first run in a new session, whose start "
        f"({min(sessions):.1f} to {max(sessions):.1f} s) is not in it; warm: the best later run to a noop sink; "
        "a new loom each time, adding and planning its queries timed apart; nothing is kept between runs.",
        "one pass: Spark scans, groups by one-minute slice and symbol with sum and count and max of price, sum of "
        "volume, count; noop sink; run in turn with the others, best of all rounds.",
        f"Spark's own was SAMPLED, once a window after a warm-up: {samples}. Elsewhere (~) it is read off the line "
        f"{start:.2f} s + {slope:.3f} s × range / slide through these.",
        "Polars reads the same files in the same process: dense slices, then rolling sums and maxima for every window. "
        "'.over' is the form its manual shows (.over('symbol')); 'Polars s' is the fastest form found: each symbol "
        "padded, so that one rolling pass runs through the whole column.",
        "rows to the JVM: the same with every row projected by Spark and thrown away there; else workers make the rows "
        "and throw them away.",
        "Spark by hand: slices a minute once, gaps filled, then window functions for all windows in one query; "
        "'frames' aggregates over frames of rows, 'offsets' subtracts running totals and covers maxima by two of a "
        "power of two (it subtracts running sums of doubles, which Weft never does). Both give one wide row a minute. "
        "~: every tenth window was run, once.",
        "peak: resident memory of the JVM and the Python workers during the cold run.",
    ]


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table as lines of Markdown."""
    rule = ["---"] + ["---:"] * (len(headings) - 1)
    return [f"| {' | '.join(row)} |" for row in (headings, rule, *rows)]


STOCK_HEADINGS = ("stock session", "cold s", "warm s", "one pass s", "× one pass", "processor s", "× one pass")


def stock_lines() -> list[str]:
    """The kept figures of a session without any setting of Weft's, if there are some."""
    if not (kept := RESULTS / "many_windows_stock.json").exists():
        return []
    found = json.loads(kept.read_text())
    rows = [stock_cells(case) for case in found["cases"]]
    most = next((case["to_one_pass"] for case in found["cases"] if case["queries"] == 100), None)
    verdict = [] if most is None else [
        "", f"* 100 windows in a stock session: at most {STOCK:g} × one pass: {most:.2f} ×, "
        f"{'reached' if most <= STOCK else 'NOT reached'}"]
    return ["## A session as Spark makes it", "",
            "`bench/many_windows.py --session stock --alone`: none of Weft's settings and Java options; "
            f"{found['machine']['date']}, best of {found['repeat']}.", "",
            *markdown(STOCK_HEADINGS, rows), *verdict, ""]


def stock_cells(case: dict[str, Any]) -> list[str]:
    """A case of the stock session as texts."""
    ratio = case["weft_cpu"] / case["one_pass_cpu"]
    figures = (case["weft"], case["one_pass"], case["to_one_pass"])
    return [f"{case['name']}) {windows(case)}", f"{case['cold']:.1f}", *(f"{value:.2f}" for value in figures),
            f"{case['weft_cpu']:.1f}", f"{ratio:.2f}"]


def write_page(results: dict[str, Any]) -> Path:
    """The page in docs/benchmarks."""
    this = results["machine"]
    versions = ", ".join(f"{name} {this[name]}" for name in ("python", "pyspark", "pyarrow", "numpy", "polars"))
    text = [
        "# Many windows at once",
        "",
        "Made by `make bench` (`bench/many_windows.py`); raw results in `bench/results/many_windows.json`.",
        "",
        f"{results['rows']:,} trades, 1000 symbols, 10 hours, Parquet. Each query asks avg(price), max(price), "
        "sum(volume) and count(*) by symbol over one window.",
        "",
        f"Measured on {this['date']}: {this['cores']} cores ({this['processor']}), {this['memory_gib']} GiB, "
        f"{this['system']}; {versions}; {this['java']}. Load when it began: {this['load']}.",
        "",
        *markdown(HEADINGS, [cells(case) for case in results["cases"]]),
        "",
        *markdown(CPU_HEADINGS, [cpu_cells(case) for case in results["cases"]]),
        "",
        *markdown(HAND_HEADINGS, hand_rows(results)),
        "",
        "## Targets",
        "",
        *(f"* {line}" for line in targets(results)),
        "",
        *stock_lines(),
        "## How it was measured",
        "",
        *(f"* {line}" for line in how(results)),
        "",
    ]
    return save(DOCS / "many_windows.md", "\n".join(text))
