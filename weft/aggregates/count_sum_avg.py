"""count, count_if, sum and avg over the ADD monoid."""

from __future__ import annotations

from weft.aggregates.base import FRACTIONAL, INTEGRAL, Aggregate, Argument, UnsupportedType, decimal_type
from weft.aggregates.component import ROWS, Component, Lowered

Args = tuple[Argument, ...]


def counted(args: Args, only: str) -> Component:
    """The number of rows whose arguments are all non-null."""
    if not args and not only:
        return ROWS
    listed = ", ".join(a.sql for a in args) or "1"
    return Component("count", (f"count({listed}){only}",), "bigint")


def summed(arg: Argument, only: str) -> Component:
    """The sum in the type Spark gives it."""
    if arg.type in INTEGRAL:
        return Component("add", (f"sum({arg.sql}){only}",), "bigint")
    if arg.type in FRACTIONAL or arg.type in ("string", "void"):
        return Component("add", (f"sum({arg.sql}){only}",), "double")
    if arg.decimal:
        precision, scale = arg.decimal
        # The count tells a slice whose sum overflowed to null, without ANSI, from one that has no values.
        columns = (f"sum({arg.sql}){only}", counted((arg,), only).columns[0])
        return Component("add", columns, decimal_type(precision + 10, scale))
    raise UnsupportedType(arg.type)


def lower_count(args: Args, only: str) -> Lowered:
    """count(*), count(x), count(x, y)."""
    return Lowered((counted(args, only),))


def lower_count_if(args: Args, only: str) -> Lowered:
    """count_if(condition)."""
    return Lowered((Component("count", (f"count_if({args[0].sql}){only}",), "bigint"),))


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
        return Lowered((Component("mean", columns, decimal_type(precision + 4, scale + 4)),))
    # A sum of bigint may overflow where Spark's average, which adds doubles, does not; a text may be no number.
    wide = Argument(f"CAST({arg.sql} AS DOUBLE)", "double") if arg.type in ("bigint", "string") else arg
    if arg.type == "string":
        count = counted((wide,), only)
    return Lowered((summed(wide, only), count), "IF({1} = 0, NULL, {0} / {1})")


COUNT = Aggregate("count", lower_count, arity=(0, 99))
COUNT_IF = Aggregate("count_if", lower_count_if)
SUM = Aggregate("sum", lower_sum)
AVG = Aggregate("avg", lower_avg, ("mean",))
