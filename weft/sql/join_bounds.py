"""Conditions that bind the event times of two streams: `b.ts BETWEEN a.ts - INTERVAL '5' MINUTE AND a.ts`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from weft.model.join import DAY, TimeBound
from weft.sql.text import Text
from weft.sql.windows import parse_duration

# The number of the stream whose event time a node is, if it is one.
TimeOf = Callable[[exp.Expr], int | None]


@dataclass(frozen=True)
class Moment:
    """The event time of a stream, shifted by some microseconds."""

    stream: int
    shift: int
    shifted: bool


def read_bounds(text: Text, node: exp.Expr, time_of: TimeOf) -> tuple[TimeBound, ...] | None:
    """The bounds that a condition sets, or None if it is about something else."""
    node = node.unnest()
    found = list(_compared(node))
    bounds = [_bound(text, *sides, time_of) for sides in found]
    return tuple(b for b in bounds if b is not None) if found and None not in bounds else None


def _compared(node: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr, bool]]:
    """The pairs of which the first must not be after the second, and whether it must be before it."""
    if isinstance(node, exp.Between):
        yield node.args["low"], node.this, False
        yield node.this, node.args["high"], False
    if isinstance(node, exp.LTE | exp.LT):
        yield node.this, node.expression, isinstance(node, exp.LT)
    if isinstance(node, exp.GTE | exp.GT):
        yield node.expression, node.this, isinstance(node, exp.GT)
    if isinstance(node, exp.EQ):
        yield node.this, node.expression, False
        yield node.expression, node.this, False


def _bound(text: Text, first: exp.Expr, second: exp.Expr, strict: bool, time_of: TimeOf) -> TimeBound | None:
    """The bound of `first <= second`; intervals on both sides only where clocks that change cannot matter."""
    left, right = (_moment(text, side.unnest(), time_of) for side in (first, second))
    if left is None or right is None or left.stream == right.stream:
        return None
    if left.shifted and right.shifted and max(abs(left.shift), abs(right.shift), abs(right.shift - left.shift)) >= DAY:
        return None
    return TimeBound(left.stream, right.stream, right.shift - left.shift, left.shifted, strict)


def _moment(text: Text, node: exp.Expr, time_of: TimeOf) -> Moment | None:
    """The event time that a node is, as it is or plus or minus an interval."""
    stream = time_of(node)
    if stream is not None:
        return Moment(stream, 0, False)
    if not isinstance(node, exp.Add | exp.Sub):
        return None
    base, interval = node.this.unnest(), node.expression.unnest()
    if isinstance(node, exp.Add) and isinstance(base, exp.Interval):
        base, interval = interval, base
    stream = time_of(base)
    micros = _interval(text, interval, node) if stream is not None and isinstance(interval, exp.Interval) else None
    if stream is None or micros is None:
        return None
    return Moment(stream, micros if isinstance(node, exp.Add) else -micros, True)


def _interval(text: Text, node: exp.Interval, at: exp.Expr) -> int:
    """The microseconds of INTERVAL '5' MINUTE or INTERVAL '1 hour 30 minutes'; errors point at what it shifts."""
    value, unit = node.this, node.args.get("unit")
    if not isinstance(value, exp.Literal) or isinstance(unit, exp.IntervalSpan):
        raise text.refused(at, "Weft cannot read the interval beside this time.", "Write INTERVAL '90' MINUTE.")
    words = f"{value.this} {unit.name}" if unit else str(value.this)
    return parse_duration(text, at, words, "bound of a join")
