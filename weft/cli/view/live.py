"""The view for a terminal: two tables that are drawn anew as the stream goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import nsmallest
from typing import TextIO

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from weft.cli.output import console
from weft.cli.tables import columns
from weft.cli.view.base import Read, clock, length, size, speed, summary, totals
from weft.spark.stream.progress import Rates, ScanMetrics, TriggerMetrics, current_rates, watermark_lag

SHOWN = 20
LOST = ("late", "dead")
FRAMES_A_SECOND = 2
HINT = "Rates are those of the last minute. Ctrl-C stops after the running trigger."


@dataclass(frozen=True)
class LiveView:
    """Draws a row a scan and a row for each of the busiest queries."""

    stdout: TextIO

    @contextmanager
    def open(self, read: Read) -> Iterator[None]:
        """Draws until the body is done, and leaves nothing behind: the totals follow."""
        def now() -> RenderableType:
            return frame(read(), datetime.now(UTC))

        with Live(console=console(self.stdout), get_renderable=now, refresh_per_second=FRAMES_A_SECOND, transient=True):
            yield

    def tell(self, figures: TriggerMetrics) -> None:
        """Takes no notice: every frame asks for what is known."""

    def end(self, readings: Sequence[ScanMetrics]) -> None:
        """Leaves the totals on the terminal."""
        shown = console(self.stdout)
        shown.print(total_table(totals(readings).answers))
        shown.print(summary(readings))


def frame(readings: Sequence[ScanMetrics], now: datetime) -> Group:
    """All that is drawn at one moment."""
    paces = [current_rates(one.recent, now) for one in readings]
    rates = {query: value for one in paces for query, value in one.answers.items()}
    return Group(scan_table(readings, paces, now), query_table(totals(readings).answers, rates), Text(HINT, "dim"))


def scan_table(readings: Sequence[ScanMetrics], paces: Sequence[Rates], now: datetime) -> Table:
    """A row for each scan, as many as fit; what is lost has columns once something is, as a terminal is narrow."""
    lost = [name for name in LOST if any(getattr(one.totals, name) for one in readings)]
    table = columns("scan", "rows/s", "watermark", "lag", "answers/s", "state", "trigger", *lost)
    for one, lately in list(zip(readings, paces, strict=True))[:SHOWN]:
        counts = [f"{getattr(one.totals, name):,}" for name in lost]
        table.add_row(*scan_row(one, lately, now), *counts, style="" if one.active else "dim")
        for cells in source_rows(one, now):
            table.add_row(*cells, style="dim")
    if len(readings) > SHOWN:
        table.add_row(more(len(readings)))
    return table


def scan_row(reading: ScanMetrics, lately: Rates, now: datetime) -> list[str]:
    """The cells of a scan; – where no trigger is done yet."""
    last = reading.last
    watermark = last.watermark if last else None
    shown = clock(watermark)
    return [reading.scan, speed(lately.rows), shown.removeprefix(f"{clock(now)[:10]} "),
            length(watermark_lag(watermark, now)),
            speed(sum(lately.answers.values())), size(last.state_bytes) if last else "–",
            f"{last.trigger_seconds:.2f} s" if last else "–"]


def source_rows(reading: ScanMetrics, now: datetime) -> Iterator[list[str]]:
    """A row for each stream of a scan's join, with its own watermark, and one for the rows that the join holds."""
    last = reading.last
    for name, watermark in last.watermarks.items() if last else ():
        held = " holds the others back" if last and name == last.slowest else ""
        yield [f"  {name}{held}", "", clock(watermark).removeprefix(f"{clock(now)[:10]} "),
               length(watermark_lag(watermark, now))]
    if last and last.watermarks:
        yield ["  rows held by joins", "", "", "", "", f"{'at least ' * last.join_rows_at_least}{last.join_rows:,}"]


def query_table(answers: Mapping[str, int], rates: Mapping[str, float]) -> Table:
    """A row for each of the busiest queries."""
    table = columns("query", "answers", "answers/s")
    for query in busiest(answers, rates):
        table.add_row(query, f"{answers[query]:,}", speed(rates.get(query, 0.0)))
    if len(answers) > SHOWN:
        table.add_row(more(len(answers)))
    return table


def total_table(answers: Mapping[str, int]) -> Table:
    """A row for each of the queries that got most."""
    table = columns("query", "answers")
    for query in busiest(answers, {}):
        table.add_row(query, f"{answers[query]:,}")
    if len(answers) > SHOWN:
        table.add_row(more(len(answers)))
    return table


def busiest(answers: Mapping[str, int], rates: Mapping[str, float]) -> list[str]:
    """The queries to show: those that get most answers a second, then those that got most at all, then by name."""
    return nsmallest(SHOWN, answers, key=lambda query: (-rates.get(query, 0.0), -answers[query], query))


def more(count: int) -> str:
    """How many are not shown."""
    return f"and {count - SHOWN:,} more"
