"""The views of a running stream: what people and machines read of the same figures."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console, RenderableType

from weft.cli.output import CommandOutput
from weft.cli.view import JsonLines, LiveView, PlainLines, chosen_view
from weft.cli.view.base import length, size, speed, summary
from weft.cli.view.bounds import bound_lines, trigger_lines
from weft.cli.view.live import busiest, frame, total_table
from weft.cli.view.plain_lines import line
from weft.spark.stream.progress import ScanMetrics, TriggerMetrics, sum_triggers

NOW = datetime(2024, 5, 1, 12, 10, tzinfo=UTC)
FIGURES = TriggerMetrics("scan-0", NOW - timedelta(seconds=10), batch=7, rows=1000, rows_per_second=500.0,
                         answers={"vwap": 40, "high": 20}, answers_per_second=30.0,
                         watermark=NOW - timedelta(minutes=10),
                         lag_seconds=600.0, trigger_seconds=2.0, state_rows=1500, state_bytes=3 << 20, late=3, dead=1)


def reading(*figures: TriggerMetrics, queries: tuple[str, ...] = ("vwap", "high", "low")) -> ScanMetrics:
    return ScanMetrics("scan-0", True, sum_triggers((), queries) + sum_triggers(figures),
                       figures[-1] if figures else None, figures)


def text(shown: RenderableType) -> list[str]:
    """The lines of what is drawn, each with single spaces."""
    file = io.StringIO()
    Console(file=file, width=160).print(shown)
    return [" ".join(line.split()) for line in file.getvalue().splitlines()]


def test_a_frame_has_a_row_a_scan_and_a_row_a_query() -> None:
    lines = text(frame([reading(FIGURES)], NOW))
    assert "scan-0 100 12:00:00 10 min 6 3 MiB 2.00 s 3 1" in lines
    assert lines.index("vwap 40 4") < lines.index("high 20 2") < lines.index("low 0 0")
    assert lines[-1].startswith("Rates are those of the last minute")


def test_a_frame_before_the_first_trigger() -> None:
    lines = text(frame([reading()], NOW))
    assert "scan-0 0 – – 0 – –" in lines and "vwap 0 0" in lines
    assert text(frame([], NOW))[-1].startswith("Rates")


def test_the_pace_of_a_frame_falls_by_the_clock_and_the_lag_grows() -> None:
    assert "scan-0 0 12:00:00 15 min 0 3 MiB 2.00 s 3 1" in text(frame([reading(FIGURES)], NOW + timedelta(minutes=5)))
    tomorrow = text(frame([reading(FIGURES)], NOW + timedelta(days=1)))
    assert "scan-0 0 2024-05-01 12:00:00 1 d 0 3 MiB 2.00 s 3 1" in tomorrow


def test_the_busiest_twenty_are_shown() -> None:
    names = tuple(f"q{i:03}" for i in range(50))
    busy = TriggerMetrics("scan-0", NOW - timedelta(seconds=1), answers={"q049": 9, "q048": 5})
    lines = text(frame([reading(busy, queries=names)], NOW))
    rows = [line.split()[0] for line in lines if line.startswith("q0")]
    assert rows == ["q049", "q048", *names[:18]] and "and 30 more" in lines
    assert busiest({"a": 1, "b": 5, "c": 1}, {"c": 0.1}) == ["c", "b", "a"]
    assert text(total_table({"a": 1, "b": 5}))[3:5] == ["b 5", "a 1"]


def test_many_scans_are_cut() -> None:
    many = [ScanMetrics(f"scan-{i}", True, sum_triggers(())) for i in range(25)]
    assert "and 5 more" in text(frame(many, NOW))


def test_a_line() -> None:
    assert line(FIGURES) == (
        "2024-05-01 12:09:50 scan-0 batch 7: 1,000 rows (500/s), 60 answers, watermark 2024-05-01 12:00:00, "
        "10 min behind, 3 late rows dropped, 1 dead letter, state 3 MiB, 2.00 s"
    )
    file = io.StringIO()
    PlainLines(file).tell(TriggerMetrics("scan-0", NOW, batch=1, trigger_seconds=0.1))
    assert file.getvalue() == ""


def test_a_summary() -> None:
    assert summary([reading(FIGURES), reading(FIGURES)]) == (
        "Ended after 2 triggers of 2 scans: 2,000 rows read, 120 answers, 6 late rows dropped, 2 dead letters.")
    assert summary([]) == "Ended after 0 triggers: 0 rows read, 0 answers."


@pytest.mark.parametrize(("seconds", "shown"), [
    (None, "–"), (0, "0 s"), (0.04, "0.0 s"), (59.9, "59.9 s"), (60, "1 min"), (75, "1 min 15 s"), (7500, "2 h 5 min"),
    (90_000, "1 d 1 h"), (86_400 * 1500, "1,500 d"), (-5, "−5 s"), (-7500, "−2 h 5 min"),
])
def test_lengths(seconds: float | None, shown: str) -> None:
    assert length(seconds) == shown


@pytest.mark.parametrize(("count", "shown"), [
    (0, "0 B"), (999, "999 B"), (1000, "0.977 KiB"), (1536, "1.5 KiB"), (500 << 10, "500 KiB"), (3 << 40, "3 TiB"),
    (5000 << 40, "5000 TiB"),
])
def test_sizes(count: int, shown: str) -> None:
    assert size(count) == shown


@pytest.mark.parametrize(("value", "shown"), [(0.0, "0"), (0.25, "0.25"), (12.34, "12"), (12345.6, "12,346")])
def test_speeds(value: float, shown: str) -> None:
    assert speed(value) == shown


class Terminal(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_who_reads_decides() -> None:
    assert isinstance(chosen_view(CommandOutput(Terminal()), False, False), LiveView)
    beside = chosen_view(CommandOutput(Terminal()), False, True)
    assert isinstance(beside, PlainLines) and beside.stdout is sys.stderr
    assert isinstance(chosen_view(CommandOutput(io.StringIO()), False, False), PlainLines)
    assert isinstance(chosen_view(CommandOutput(Terminal()), True, False), JsonLines)


def test_a_terminal_is_drawn_upon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    view = LiveView(terminal)
    with view.open(lambda: [reading(FIGURES)]):
        view.tell(FIGURES)
    assert "scan-0" in terminal.getvalue() and "vwap" in terminal.getvalue()
    view.end([reading(FIGURES)])
    assert "Ended after 1 trigger: 1,000 rows read, 60 answers" in terminal.getvalue()


def test_which_bounds_a_stream_keeps() -> None:
    """A second each and a second for 1000 rows, of which 500 come a second: T* = 2 s."""
    shown = [TriggerMetrics("scan-0", NOW + timedelta(seconds=at), rows=rows, trigger_seconds=1 + rows / 1000)
             for at, rows in ((0, 1000), (4, 2000), (8, 1000), (10, 2000))]
    bounds = {"vwap": 5_000_000, "high": 1_000_000, "other": 1_000_000}
    (found,) = bound_lines([reading(*shown)], bounds)
    assert found.startswith("scan-0: the shortest trigger that it can sustain is 1.9 s (1 s each, 46% of the time")
    assert found.endswith("keeps vwap (every 5 s), misses high (every 1 s).")
    assert list(bound_lines([reading(*shown)], {})) == list(bound_lines([reading()], bounds)) == []
    (none,) = bound_lines([reading(*(replace(one, at=NOW) for one in shown))], bounds)
    assert "no trigger is long enough" in none


def test_a_trigger_that_is_longer_than_bounds_allow() -> None:
    bounds = {"vwap": 5_000_000, "high": 60_000_000}
    (found,) = trigger_lines("10 seconds", bounds)
    assert found == "The trigger of 10 s is longer than answers may wait: it misses vwap (every 5 s)."
    for trigger in ("5 seconds", "available", "no length", None):
        assert list(trigger_lines(trigger, bounds)) == []
    assert list(trigger_lines("10 seconds", {})) == []


def test_streams_of_a_join_are_shown_with_their_watermarks() -> None:
    """Who holds the others back is named, in lines and in the table."""
    found = replace(FIGURES, join_rows=1234, watermarks={"trades": NOW, "quotes": NOW - timedelta(minutes=2)})
    assert "joins hold 1,234 rows, quotes holds them back at 2024-05-01 12:08:00" in line(found)
    shown = text(frame([reading(found)], NOW))
    assert any(each.startswith("quotes holds the others back 12:08:00") for each in shown)
    assert any(each.startswith("rows held by joins 1,234") for each in shown)
