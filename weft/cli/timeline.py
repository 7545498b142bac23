"""Schedules as pictures of characters: a row a group, a column a stretch of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from rich.text import Text

from weft.model.window import UNITS, duration
from weft.optimize.schedule import ScheduleProblem
from weft.optimize.schedule.dispatch import FinishedRun

WIDE = 60  # columns
PERIODS = 6  # of the longest bound that are shown, where it takes longer for all bounds to come round
MILLENNIUM = 365_000 * 86_400_000_000
LONG = 8  # characters of a bound
LABELS = 10  # columns between two times below the picture
RUN, SOONER, LATE, GOING, IDLE = "●", "○", "✗", "━", "·"
STYLES = {RUN: "green", SOONER: "cyan", LATE: "bold red", GOING: "blue", IDLE: "dim"}
LEGEND = {RUN: "runs when its bound has run out", SOONER: "runs sooner, with others", LATE: "runs too late",
          GOING: "is running"}


@dataclass(frozen=True)
class Frame:
    """The time that a picture shows: so many columns, each so long."""

    column: int
    columns: int

    @property
    def until(self) -> int:
        """Where it ends."""
        return self.column * self.columns


def frame_of(problem: ScheduleProblem) -> Frame:
    """The time in which all bounds come round, or the beginning of it, in columns no longer than the smallest bound."""
    bounds = problem.bounds
    span = min(lcm(*bounds), PERIODS * max(bounds), WIDE * min(bounds))
    column = max(gcd(*bounds), -(-span // WIDE))
    return Frame(column, -(-span // column))


def timeline(problem: ScheduleProblem, runs: Sequence[FinishedRun], frame: Frame, most: int) -> Iterator[Text]:
    """A row for each group, of the first so many."""
    names = max(len(group.name) for group in problem.groups)
    bounds = [bound_text(group.bound) for group in problem.groups]
    for g, group in enumerate(problem.groups[:most]):
        row = Text(f"  {group.name:{names}}  {bounds[g]:>{max(map(len, bounds))}}  ")
        for mark in marks(runs, g, group.bound, frame):
            row.append(mark, STYLES[mark])
        yield row


def marks(runs: Sequence[FinishedRun], group: int, bound: int, frame: Frame) -> list[str]:
    """A character for each column: where a run of the group starts, and how long it goes on."""
    line, last = [IDLE] * frame.columns, None
    for run in (run for run in runs if group in run.members and run.at < frame.until):
        first, end = run.at // frame.column, min(-(-run.finished // frame.column), frame.columns)
        for column in range(first + 1, end):
            line[column] = GOING
        line[first] = mark_of(run.at, last, bound, line[first])
        last = run.at
    return line


def mark_of(at: int, last: int | None, bound: int, there: str) -> str:
    """How a run stands to the bound since the one before it; a late one in the same column stays to be seen."""
    if there == LATE or (last is not None and at - last > bound):
        return LATE
    return RUN if last is None or at - last == bound else SOONER


def axis(problem: ScheduleProblem, frame: Frame) -> Text:
    """The times below a picture."""
    names = max(len(group.name) for group in problem.groups)
    margin = 2 + names + 2 + max(len(bound_text(group.bound)) for group in problem.groups) + 2
    labels = (length(column * frame.column) if column else "0" for column in range(0, frame.columns + 1, LABELS))
    return Text(" " * margin + "".join(f"{label:<{LABELS}}" for label in labels).rstrip(), "dim")


def legend(used: str) -> Text:
    """What the characters mean that a picture has."""
    found = Text()
    for mark, meaning in LEGEND.items():
        if mark in used:
            found.append("   " if found else "  ").append(mark, STYLES[mark]).append(f" {meaning}")
    return found


def bound_text(micros: int) -> str:
    """A bound as it is, or in three digits where that is long."""
    exact = duration(micros)
    return exact if len(exact) <= LONG else length(micros)


def length(micros: Fraction | int) -> str:
    """A time in three digits and the largest unit that it has one of: 1.67 min, 90 s as 1.5 min."""
    if micros > MILLENNIUM:
        return "> 1000 years"
    size, unit = next(((size, unit) for size, unit in UNITS if micros >= size), UNITS[-1])
    value = f"{float(Fraction(micros) / size):.3g}"
    return f"{float(value):g} {unit}"
