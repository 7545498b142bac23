"""Streams and selectivities of joins as the command line spells them: A:10:10, AB=0.5, orders-trades=0.5."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from weft.cli.nearest import did_you_mean
from weft.cli.windows import UNITS
from weft.cost.joins.problem import InputStream, JoinPredicate, require_predicates, require_streams
from weft.errors import PlanError
from weft.model.window import ROW_COUNT, TIME

NAME = re.compile(r"[^\W\d]\w*")
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")
LENGTH = re.compile(rf"({NUMBER.pattern})\s*([A-Za-zµ]*)")
STREAM = "write name:rate:window, such as A:10:10"
PAIR = "write AB=0.5, or orders-trades=0.5 where names have more than one letter"


def read_streams(options: Sequence[str], windows: str) -> tuple[InputStream, ...]:
    """The streams that the options give; windows are rows or seconds."""
    streams = tuple(stream_of(text, windows) for text in parts_of(options))
    require_streams(streams)
    return streams


def read_predicates(options: Sequence[str], streams: Sequence[InputStream]) -> tuple[JoinPredicate, ...]:
    """The selectivities that the options give, of pairs of these streams."""
    names = [stream.name for stream in streams]
    found = tuple(predicate_of(text, names) for text in parts_of(options))
    require_predicates(streams, found)
    return found


def parts_of(options: Sequence[str]) -> Iterator[str]:
    """What stands between commas."""
    yield from filter(None, (text.strip() for option in options for text in option.split(",")))


def stream_of(text: str, windows: str) -> InputStream:
    """One stream: name, rows a second, window."""
    parts = [part.strip() for part in text.split(":")]
    if len(parts) != 3:
        raise PlanError(f"'{text}' is no stream: {STREAM}.")
    if not NAME.fullmatch(parts[0]):
        raise PlanError(f"'{parts[0]}' in '{text}' is no name: use letters, digits and _, with a letter first.")
    rate = number(parts[1], text)
    return InputStream(parts[0], rate, window_of(parts[2], text, rate, windows))


def number(text: str, whole: str) -> float:
    """A plain number."""
    if not NUMBER.fullmatch(text):
        raise PlanError(f"'{text}' in '{whole}' is no number of rows a second: {STREAM}.")
    return float(text)


def window_of(text: str, whole: str, rate: float, windows: str) -> float:
    """The window in rows, or in seconds: a number of them, a duration, or what holds so many rows at the full rate."""
    found = LENGTH.fullmatch(text)
    if not found:
        raise PlanError(f"'{text}' in '{whole}' is no window: write a number of "
                        f"{'rows' if windows == ROW_COUNT else 'seconds, or a duration such as 5m'}.")
    size, unit = float(found[1]), found[2].lower().replace("µ", "u")
    if unit == "rows":
        return size if windows == ROW_COUNT or rate <= 0 else size / rate
    if unit and windows == ROW_COUNT:
        raise PlanError(f"'{text}' in '{whole}' is no number of rows: write one, or give --windows {TIME}.")
    if unit and unit not in UNITS:
        raise PlanError(f"'{found[2]}' in '{whole}' is no unit of time. {did_you_mean(unit, (*UNITS, 'rows'))}")
    return size * UNITS[unit] / 10**6 if unit else size


def predicate_of(text: str, names: Sequence[str]) -> JoinPredicate:
    """One selectivity."""
    pair, equals, value = (part.strip() for part in text.partition("="))
    if not equals:
        raise PlanError(f"'{text}' is no selectivity: {PAIR}.")
    if not NUMBER.fullmatch(value):
        raise PlanError(f"'{value}' in '{text}' is no number: a selectivity is the share of all pairs of rows "
                        "that match.")
    return JoinPredicate(*pair_of(pair, text, names), float(value))


def pair_of(pair: str, text: str, names: Sequence[str]) -> tuple[str, str]:
    """The two streams of a selectivity, with a dash between them or, where that is plain, without."""
    if "-" in pair:
        left, _, right = (part.strip() for part in pair.partition("-"))
        for name in (left, right):
            if name not in names:
                raise PlanError(f"there is no stream '{name}', which '{text}' names. {did_you_mean(name, names)}")
        return left, right
    found = [(pair[:cut], pair[cut:]) for cut in range(1, len(pair)) if pair[:cut] in names and pair[cut:] in names]
    if len(found) > 1:
        raise PlanError(f"'{pair}' can be read as {' and as '.join('-'.join(two) for two in found)}: write the dash.")
    if not found:
        raise PlanError(f"'{pair}' in '{text}' is no pair of the streams {', '.join(names)}: {PAIR}.")
    return found[0]
