"""`weft calibrate`: measures this machine, keeps the figures, and shows them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from weft.calibrate import kernels as measuring
from weft.calibrate.kernels import Progress
from weft.cli.output import CommandOutput
from weft.cost.calibration_table import (
    CalibrationTable,
    FiguresWarning,
    Found,
    check_place,
    figures_path,
    find_figures,
    keep_figures,
    remove_figures,
)
from weft.cost.spark import SparkCosts
from weft.final.algorithms import ALGORITHMS

Place = tuple[int, int]
LEGEND = ("Nanoseconds per answer. In column n × q there are q ranges, the longest of n slices; – is what is not "
          "legal or takes too long.")


def calibrate(output: CommandOutput) -> None:
    """Measures every algorithm, then Spark, and keeps the figures."""
    path = figures_path()
    check_place(path)  # measuring takes minutes, which nobody shall spend in vain
    with output.progress("starting Spark") as report:
        costs = spark_costs(report)
    with output.progress("measuring") as report:
        figures = replace(measuring.calibrate(report), spark=costs)
    keep_figures(figures, path)
    display(output, Found(figures, path))


def spark_costs(report: Progress) -> SparkCosts:
    """What Spark takes here; the session made for it is gone before the algorithms are timed."""
    from weft.calibrate.spark import calibrate_spark
    from weft.spark.session.session import active_or_local

    spark = active_or_local()
    try:
        return calibrate_spark(spark, report)
    finally:
        spark.stop()


def show(output: CommandOutput) -> None:
    """Shows the figures in use."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FiguresWarning)  # the answer says it
        display(output, find_figures())


def reset(output: CommandOutput) -> None:
    """Removes the machine's own figures."""
    path = figures_path()
    removed = remove_figures(path)
    text = f"Removed {path}" if removed else "This machine has no figures of its own"
    output.show({"ok": True, "removed": str(path) if removed else None}, f"{text}; Weft uses those it ships.")


def display(output: CommandOutput, found: Found) -> None:
    """Writes the figures and where they are from."""
    missing = absent(found.figures)
    data = {"ok": True, "own": is_own(found), "path": found.own, "fault": found.fault or None}
    output.show({**data, **found.figures.to_dict(), "missing": missing}, *pages(found, missing))


def is_own(found: Found) -> bool:
    """Whether the figures are the machine's own."""
    return found.own is not None and not found.fault


def absent(figures: CalibrationTable) -> dict[str, str]:
    """The algorithms that cannot run here or have no figures, and why."""
    reasons = {a.card.name: a.missing or ("" if a.card.name in figures.answer else "it has not been measured")
               for a in ALGORITHMS}
    return {name: reason for name, reason in reasons.items() if reason}


def pages(found: Found, missing: Mapping[str, str]) -> Iterator[RenderableType]:
    """All that people read."""
    figures = found.figures
    if found.fault:
        yield Text(found.fault[0].upper() + found.fault[1:], style="red")
    yield origin(found)
    yield LEGEND
    for kind in dict.fromkeys(kind for kinds in reversed(figures.answer.values()) for kind in kinds):
        yield from ("", kind, speeds({name: kinds[kind] for name, kinds in figures.answer.items() if kind in kinds}))
    yield from starts(figures)
    yield f"Copying eight bytes takes {figures.memcpy} ns."
    yield from ("", "Spark", spark_table(figures.spark))
    yield from (f"Without {', '.join(names)}: {reason}." for reason, names in grouped(missing).items())


def origin(found: Found) -> str:
    """Whose figures these are, from when and from what machine."""
    figures = found.figures
    when = f" on {figures.measured.replace('T', ' ').replace('+00:00', ' UTC')}" if figures.measured else ""
    if is_own(found):
        return f"This machine's own figures, measured{when} ({figures.machine}), kept in {found.own}."
    return f"The figures that Weft ships, measured{when} ({figures.machine}). `weft calibrate` measures this machine."


def speeds(points: Mapping[str, Sequence[tuple[int, int, float]]]) -> Table:
    """A row for each algorithm, a column for each point; the quickest of a column stands out."""
    taken = {name: {(n, q): t for n, q, t in measured} for name, measured in points.items()}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("algorithm")
    shown = places(taken)
    for n, q in shown:
        table.add_column(f"{n:,}\n× {q}", justify="right", overflow="fold")
    best = {place: min(row[place] for row in taken.values() if place in row) for place in shown}
    for name, row in taken.items():
        table.add_row(name, *(cell(row.get(place), best[place]) for place in shown))
    return table


def places(taken: Mapping[str, Mapping[Place, float]]) -> list[Place]:
    """The points to show: every second span."""
    measured = {place for row in taken.values() for place in row}
    spans = sorted({n for n, _ in measured})[::2]
    return sorted((place for place in measured if place[0] in spans), key=lambda place: place[::-1])


def cell(nanoseconds: float | None, best: float) -> Text:
    """One figure."""
    if nanoseconds is None:
        return Text("–")
    text = f"{nanoseconds:,.2f}" if nanoseconds < 100 else f"{nanoseconds:,.0f}"
    return Text(text, style="green" if nanoseconds == best else "")


SPARK = {
    "row": "ns a row of a scan", "component": "ns a row and component", "emit": "ns a slice that a scan emits",
    "hand_over": "ns a slice and projection, on its way to Python", "cells": "ns a slice and slide",
    "answer": "ns an answer folded and delivered", "stage": "s a stage, however little it does",
}


def spark_table(costs: SparkCosts) -> Table:
    """A row for each figure of Spark."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    for name, value in costs.to_dict().items():
        table.add_row(f"{value:,.4g}", SPARK[name])
    return table


def starts(figures: CalibrationTable) -> Iterator[str]:
    """What algorithms take until they run in a fresh worker."""
    seconds = {name: f"{value:.2f} s" for name, value in figures.start.items()}
    yield from (f"A fresh worker takes {text} to start {', '.join(names)}." for text, names in grouped(seconds).items())


def grouped(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """The names that share a text."""
    found: dict[str, list[str]] = {}
    for name, text in texts.items():
        found.setdefault(text, []).append(name)
    return found
