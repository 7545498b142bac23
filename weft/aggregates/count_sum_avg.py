"""count, count_if, sum and avg over the ADD monoid."""

from __future__ import annotations

from weft.aggregates.base import FRACTIONAL, INTEGRAL, Aggregate, Argument, UnsupportedType, decimal_type
from weft.aggregates.component import ROWS, Component, Lift, Lowered, lifted
from weft.aggregates.monoids import sums
from weft.aggregates.monoids.decimal_sums import DECIMAL_MEAN, DECIMAL_SUM
from weft.aggregates.weighted import weigh_avg, weigh_count, weigh_count_if, weigh_sum

Args = tuple[Argument, ...]


def counted(args: Args, only: str) -> Component:
    """The number of rows whose arguments are all non-null."""
    if not args and not only:
        return ROWS
    listed = ", ".join(a.sql for a in args) or "1"
    there = " AND ".join(f"({a.sql}) IS NOT NULL" for a in args)
    value = args[0].sql if len(args) == 1 else f"IF({there}, 1, NULL)" if args else "1"
    return Component(sums.COUNT, (f"count({listed}){only}",), "bigint", lifts=(lifted(only, value, True),))


def added(arg: Argument, only: str, kind: str) -> Lift:
    """What a row brings to a sum."""
    return lifted(only, arg.sql if arg.type == kind else f"CAST({arg.sql} AS {kind})")


def summed(arg: Argument, only: str) -> Component:
    """The sum in the type Spark gives it."""
    if arg.type in INTEGRAL:
        return Component(sums.SUM, (f"sum({arg.sql}){only}",), "bigint", lifts=(added(arg, only, "bigint"),))
    if arg.type in FRACTIONAL or arg.type in ("string", "void"):
        return Component(sums.SUM, (f"sum({arg.sql}){only}",), "double", lifts=(added(arg, only, "double"),))
    if arg.decimal:
        precision, scale = arg.decimal
        # The count tells a slice whose sum overflowed to null, without ANSI, from one that has no values.
        kind, count = decimal_type(precision + 10, scale), counted((arg,), only)
        columns = (f"sum({arg.sql}){only}", count.columns[0])
        return Component(DECIMAL_SUM, columns, kind, lifts=(added(arg, only, kind), *count.lifts))
    raise UnsupportedType(arg.type)


def lower_count(args: Args, only: str) -> Lowered:
    """count(*), count(x), count(x, y)."""
    return Lowered((counted(args, only),))


def lower_count_if(args: Args, only: str) -> Lowered:
    """count_if(condition)."""
    lifts = (lifted(only, f"IF({args[0].sql}, 1, NULL)", True),)
    return Lowered((Component(sums.COUNT, (f"count_if({args[0].sql}){only}",), "bigint", lifts=lifts),))


def lower_sum(args: Args, only: str) -> Lowered:
    """sum(x)."""
    return Lowered((summed(args[0], only),))


def lower_avg(args: Args, only: str) -> Lowered:
    """avg(x): a sum over a count; decimals divide in the kernel, where the quotient rounds once as Spark's does."""
    arg = args[0]
    count = counted(args, only)
    if arg.decimal:
        precision, scale = arg.decimal
        columns = (f"sum({arg.sql}){only}", count.columns[0])
        lifts = (added(arg, only, decimal_type(precision + 10, scale)), *count.lifts)
        return Lowered((Component(DECIMAL_MEAN, columns, decimal_type(precision + 4, scale + 4), lifts=lifts),))
    # A sum of bigint may overflow where Spark's average, which adds doubles, does not; a text may be no number.
    wide = Argument(f"CAST({arg.sql} AS DOUBLE)", "double") if arg.type in ("bigint", "string") else arg
    if arg.type == "string":
        count = counted((wide,), only)
    return Lowered((summed(wide, only), count), "IF({1} = 0, NULL, {0} / {1})")


COUNT = Aggregate("count", lower_count, arity=(0, 99), weigh=weigh_count)
COUNT_IF = Aggregate("count_if", lower_count_if, weigh=weigh_count_if)
SUM = Aggregate("sum", lower_sum, weigh=weigh_sum)
AVG = Aggregate("avg", lower_avg, ("mean",), weigh=weigh_avg)
