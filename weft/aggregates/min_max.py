"""min, max, min_by, max_by and the boolean aggregates over the selective monoids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from weft.aggregates.base import FRACTIONAL, INTEGRAL, Aggregate, Argument, UnsupportedType
from weft.aggregates.component import Component, Lift, Lowered, lifted
from weft.aggregates.monoids import choices

Args = tuple[Argument, ...]
TEXTS = ("string", "binary")
ORDERED = (*INTEGRAL, *FRACTIONAL, "boolean", *TEXTS, "date", "timestamp", "timestamp_ntz")


def ordered(arg: Argument) -> Argument:
    """The argument, if its type has an order that the kernels keep."""
    if arg.type in ORDERED or arg.decimal:
        return arg
    raise UnsupportedType(arg.type)


def lifts(only: str, order: Argument, *values: Argument) -> tuple[Lift, ...]:
    """What a row brings; nothing where rows are ordered by texts, which workers are slow to compare."""
    return () if order.type in TEXTS else tuple(lifted(only, arg.sql) for arg in (*values, order))


def lower_min(args: Args, only: str) -> Lowered:
    """min(x); on booleans also bool_and."""
    arg = ordered(args[0])
    return Lowered((Component(choices.MIN, (f"min({arg.sql}){only}",), arg.type, lifts=lifts(only, arg)),))


def lower_max(args: Args, only: str) -> Lowered:
    """max(x); on booleans also bool_or."""
    arg = ordered(args[0])
    return Lowered((Component(choices.MAX, (f"max({arg.sql}){only}",), arg.type, lifts=lifts(only, arg)),))


def lower_min_by(args: Args, only: str) -> Lowered:
    """min_by(value, order): the slice with the least order lends its value."""
    value, order = args[0], ordered(args[1])
    columns = (f"min_by({value.sql}, {order.sql}){only}", f"min({order.sql}){only}")
    return Lowered((Component(choices.MIN_BY, columns, value.type, lifts=lifts(only, order, value)),))


def lower_max_by(args: Args, only: str) -> Lowered:
    """max_by(value, order): the slice with the greatest order lends its value."""
    value, order = args[0], ordered(args[1])
    columns = (f"max_by({value.sql}, {order.sql}){only}", f"max({order.sql}){only}")
    return Lowered((Component(choices.MAX_BY, columns, value.type, lifts=lifts(only, order, value)),))


def of_sample(lower: Callable[[Args, str], Lowered]) -> Callable[[Args, str], Lowered]:
    """The same over the rows that a drop box kept, and labelled so: nothing tells the extreme of those it dropped."""

    def weigh(args: Args, only: str) -> Lowered:
        lowered = lower(args, only)
        named = (replace(c, label=f"{c.columns[0]} of the sample") for c in lowered.components)
        return Lowered(tuple(named), lowered.sql)

    return weigh


MIN = Aggregate("min", lower_min, weigh=of_sample(lower_min))
MAX = Aggregate("max", lower_max, weigh=of_sample(lower_max))
MIN_BY = Aggregate("min_by", lower_min_by, arity=(2, 2))
MAX_BY = Aggregate("max_by", lower_max_by, arity=(2, 2))
BOOL_AND = Aggregate("bool_and", lower_min, ("every",))
BOOL_OR = Aggregate("bool_or", lower_max, ("any", "some"))
