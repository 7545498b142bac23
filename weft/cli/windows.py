"""Windows as the command line spells them: range/slide or range/slide@start, in numbers or durations, exactly."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from pathlib import Path

from weft.cli.nearest import did_you_mean
from weft.errors import PlanError
from weft.model.window import Window

SPELLING = re.compile(r"([^/@]*)/([^/@]*)(?:@([^/@]*))?")
LENGTH = re.compile(r"([+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40}))\s*([A-Za-zµ]*)")
UNITS = {"us": 1, "ms": 1_000, "s": 10**6, "m": 60 * 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "d": 86_400 * 10**6}
# Edges are counted in 64-bit integers, with room for sums.
MOST = 2**60


@dataclass(frozen=True)
class WindowText:
    """A window as it was written: range, slide and start, in seconds where `timed`, else in any unit."""

    text: str
    lengths: tuple[Fraction, Fraction, Fraction]
    timed: bool


@dataclass(frozen=True)
class Given:
    """The windows of a question: in whole ticks, of which a unit (a second, where `timed`) has `ticks`."""

    texts: tuple[str, ...]
    windows: tuple[Window, ...]
    ticks: int
    timed: bool


def read_windows(options: Sequence[str]) -> Given:
    """The windows that the options give, or an error that says which is wrong and why."""
    found = [spelled(text) for option in options for text in texts_of(option)]
    if not found:
        raise PlanError('there are no windows to plan: write them as range/slide, "16/4,10/5", or @file.')
    timed = {one.timed for one in found}
    if len(timed) > 1:
        raise PlanError("some windows are durations and some are plain numbers: give all of them a unit, or none.")
    ticks = 10**6 if timed == {True} else lcm(*(length.denominator for one in found for length in one.lengths))
    windows = tuple(window_of(one, ticks) for one in found)
    return Given(tuple(one.text for one in found), windows, ticks, timed == {True})


def texts_of(option: str) -> Iterator[str]:
    """The windows of one option: separated by commas, or in a file, in which # begins a remark."""
    lines = read_lines(Path(option[1:])) if option.startswith("@") else [option]
    for line in lines:
        yield from filter(None, (text.strip() for text in line.split("#")[0].split(",")))


def read_lines(file: Path) -> list[str]:
    """The lines of a file of windows."""
    try:
        return file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "it is no text"
        raise PlanError(f"'{file}' cannot be read: {reason}.") from error


def spelled(text: str) -> WindowText:
    """One window as written."""
    parts = SPELLING.fullmatch(text)
    if not parts:
        raise PlanError(f"'{text}' is no window: write range/slide or range/slide@start, such as 16/4 or 10m/1m.")
    lengths = [length(part.strip(), text) for part in (parts[1], parts[2], parts[3] or "0")]
    timed = {unit for value, unit in lengths if unit is not None}
    plain = any(unit is None and value for value, unit in lengths)
    if timed and plain:
        raise PlanError(f"'{text}' mixes a duration and a plain number: give both a unit, or none.")
    scale = Fraction(1, 10**6) if timed else Fraction(1)
    first, second, third = (value * scale for value, _ in lengths)
    return WindowText("".join(text.split()), (first, second, third), bool(timed))


def length(text: str, window: str) -> tuple[Fraction, str | None]:
    """A number, or microseconds and their unit."""
    found = LENGTH.fullmatch(text)
    if not found:
        raise PlanError(f"'{text}' in window '{window}' is no length: write a number such as 16 or 2.5, "
                        "or a duration such as 10m.")
    unit = found[2].lower().replace("µ", "u")
    if unit and unit not in UNITS:
        raise PlanError(f"'{found[2]}' in window '{window}' is no unit of time. {did_you_mean(unit, UNITS)}")
    return Fraction(found[1]) * UNITS.get(unit, 1), unit or None


def window_of(one: WindowText, ticks: int) -> Window:
    """The window in whole ticks."""
    scaled = [length * ticks for length in one.lengths]
    fault = fault_of(*scaled)
    if fault:
        raise PlanError(f"window '{one.text}': {fault}")
    size, slide, start = map(int, scaled)
    return Window(size, slide, start)


def fault_of(size: Fraction, slide: Fraction, start: Fraction) -> str | None:
    """What is wrong with a window, as a sentence."""
    faults = (
        (size <= 0, "the range must be positive."),
        (slide <= 0, "the slide must be positive."),
        (slide > size, "the slide must not be larger than the range: rows between windows would be in none."),
        (abs(start) >= slide, "the start must be smaller than the slide."),
        (any(length.denominator > 1 for length in (size, slide, start)), "a microsecond is the finest time there is."),
        (size > MOST, "the range is too long to be counted in steps as fine as these windows need."),
    )
    return next((sentence for wrong, sentence in faults if wrong), None)
