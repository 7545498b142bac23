"""Window calls: `window(time, range[, slide[, start]])` and the durations Spark accepts in it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from weft.model.window import Window
from weft.sql.text import Spot, Text, start_of

MICROS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
MONTHS = ("month", "year")
LONGEST = 2**63 - 1

_UNIT = "|".join((*MICROS, *MONTHS))
_PART = rf"([+-]?)\s*(\d+(?:\.\d{{0,9}})?|\.\d{{1,9}})\s+({_UNIT})s?"
_DURATION = re.compile(rf"\s*(?:interval\s+)?{_PART}(?:\s+{_PART})*\s*", re.IGNORECASE)
_PARTS = re.compile(_PART, re.IGNORECASE)
EXAMPLE = "Write a duration such as '10 minutes', '1 hour 30 minutes' or '500 milliseconds'."


def read_window(text: Text, call: exp.Anonymous) -> Window:
    """The window of a `window(time, range[, slide[, start]])` call."""
    args = call.expressions
    if not 2 <= len(args) <= 4:
        raise text.wrong(
            call,
            f"window() takes the time, the range and optionally the slide and the start, not {len(args)} arguments.",
            "Write window(ts, '10 minutes', '2 minutes').",
        )
    return make_window(text, call, [read_duration(text, call, arg) for arg in args[1:]])


def make_window(text: Text, at: Spot, durations: Sequence[int]) -> Window:
    """The window of range, slide (else the range) and start (else zero), or the error that says what is off."""
    size = durations[0]
    slide = durations[1] if len(durations) > 1 else size
    start = durations[2] if len(durations) > 2 else 0
    if size <= 0 or slide <= 0:
        which = "range" if size <= 0 else "slide"
        raise text.refused(at, f"the window's {which} must be longer than zero.", EXAMPLE)
    if slide > size:
        raise text.refused(
            at,
            "the window's slide is larger than its range, so some rows would fall in no window.",
            "Make the slide at most as long as the range.",
        )
    if abs(start) >= slide:
        raise text.refused(
            at, "the window's start offset must be smaller than its slide.", "Subtract whole slides from the start."
        )
    return Window(size, slide, start)


def read_duration(text: Text, call: exp.Expr, arg: exp.Expr) -> int:
    """The microseconds of a literal: a Spark interval string or a whole number of microseconds."""
    node = arg.unnest()
    if isinstance(node, exp.Literal) and node.is_string:
        return parse_duration(text, arg, node.this)
    micros = _whole(node)
    if micros is None:
        raise text.refused(
            call if start_of(arg) is None else arg,
            "the range, slide and start of window() must be literals: a string or a number of microseconds.",
            _instead(node),
        )
    return micros


def parse_duration(text: Text, at: Spot, words: str, what: str = "window") -> int:
    """The microseconds of `1 hour 30 minutes` as Spark reads it: fractions of seconds are cut to microseconds."""
    if not _DURATION.fullmatch(words):
        raise text.wrong(at, f"'{words}' is not a duration that Spark can read.", EXAMPLE)
    total = sum(_part(text, at, what, *part) for part in _PARTS.findall(words))
    if abs(total) > LONGEST:
        raise text.wrong(at, f"the duration '{words}' is too long.", EXAMPLE)
    return total


def _part(text: Text, at: Spot, what: str, sign: str, number: str, unit: str) -> int:
    unit = unit.lower()
    whole, dot, fraction = number.partition(".")
    if dot and unit != "second":
        raise text.wrong(at, f"only seconds may have a fraction, not '{number} {unit}'.", EXAMPLE)
    if unit in MONTHS:
        if int(whole):
            raise text.refused(at, f"a {unit} has no fixed length, so it cannot be a {what}.", "Write it in days.")
        return 0
    micros = int(whole or 0) * MICROS[unit] + int((fraction + "000000")[:6] if dot else 0)
    return -micros if sign == "-" else micros


def _whole(node: exp.Expr) -> int | None:
    """The value of `600000000`, `-600000000` or `600000000L`."""
    if isinstance(node, exp.Neg):
        inner = _whole(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Cast) and node.this.is_int and node.to.is_type("bigint"):
        node = node.this
    return int(node.this) if isinstance(node, exp.Literal) and node.is_int else None


def _instead(node: exp.Expr) -> str:
    if isinstance(node, exp.Interval) and isinstance(node.this, exp.Literal) and node.args.get("unit"):
        words = f"{node.this.this} {node.args['unit']}".lower()
        return f"Spark takes no INTERVAL here: write '{words}'."
    return EXAMPLE
