"""count(DISTINCT), median, percentiles, mode and collected lists: aggregates whose slices keep bags of values.

A slice's bag is one Spark aggregate, collect_list or collect_set. Aggregates of the same argument and FILTER keep the
same column; the kernels in `final/bags` answer each of them from it.
"""

from __future__ import annotations

from weft.aggregates.base import FRACTIONAL, INTEGRAL, Aggregate, Argument, BadArgument, UnsupportedType
from weft.aggregates.component import Component, Lowered
from weft.aggregates.literals import numbers, parse_number, truth
from weft.aggregates.min_max import ORDERED, ordered
from weft.aggregates.monoids import Monoid, bags

Args = tuple[Argument, ...]
TIMES = ("date", "timestamp", "timestamp_ntz")
ACCURACY = 10_000.0  # Spark's own, where a call names none
NESTED = ("map<", "variant", "collate", "interval", "void", "udt", "object")


def bag(monoid: Monoid, arg: Argument, only: str, kind: str, label: str,
        parameters: tuple[float, ...] = ()) -> Component:
    """A component over all values of an argument."""
    return Component(monoid, (f"collect_list({arg.sql}){only}",), kind, label=label + only, parameters=parameters)


def lower_count_distinct(args: Args, only: str) -> Lowered:
    """count(DISTINCT x), or of several arguments the combinations in which none is null."""
    value = ordered(args[0]).sql
    if len(args) > 1:
        known = " AND ".join(f"({ordered(arg).sql}) IS NOT NULL" for arg in args)
        fields = ", ".join(f"'f{i}', {arg.sql}" for i, arg in enumerate(args))
        value = f"CASE WHEN {known} THEN named_struct({fields}) END"
    label = f"count(DISTINCT {', '.join(arg.sql for arg in args)}){only}"
    return Lowered((Component(bags.DISTINCT, (f"collect_set({value}){only}",), "bigint", label=label),))


def lower_median(args: Args, only: str) -> Lowered:
    """median(x): the percentile of one half."""
    return Lowered((exact(args[0], 0.5, only),))


def lower_percentile(args: Args, only: str) -> Lowered:
    """percentile(x, p) or percentile(x, array(p, q, …)), each a component of its own."""
    if len(args) > 2:
        raise BadArgument("Weft does not run percentile() with frequencies.", "Leave the third argument out.")
    found, several = percentages("percentile", args[1])
    return together(tuple(exact(args[0], p, only) for p in found), several)


def exact(arg: Argument, percentage: float, only: str) -> Component:
    """The exact percentile, between two values where it lies between them."""
    value = as_number(arg)
    return bag(bags.PERCENTILE, value, only, "double", f"percentile({value.sql}, {percentage:g})", (percentage,))


def lower_approximate(args: Args, only: str) -> Lowered:
    """percentile_approx(x, p[, accuracy]): the value of that rank, which Spark gives where it does not approximate."""
    arg = args[0] if args[0].type in TIMES else as_number(args[0])
    found, several = percentages("percentile_approx", args[1])
    accuracy = parse_number(args[2].sql) if len(args) > 2 else ACCURACY
    if accuracy is None or accuracy < 1:
        raise BadArgument("the accuracy of percentile_approx() must be a whole number above 0.", "Write 10000.")
    kind = "double" if arg.decimal else arg.type
    label = f"percentile_approx({arg.sql}, {{:g}}, {accuracy:g})"
    ranks = tuple(bag(bags.RANK, arg, only, kind, label.format(p), (p, accuracy)) for p in found)
    # Spark keeps decimals as doubles here, and makes decimals of them again.
    return together(ranks, several, f"CAST({{}} AS {arg.type})" if arg.decimal else "{}")


def together(components: tuple[Component, ...], several: bool, each: str = "{}") -> Lowered:
    """One value, or an array of them that is null where they are."""
    values = [each.format(f"{{{i}}}") for i in range(len(components))]
    # Compacting loses nothing, for either all are null or none; Spark then knows that the array holds no nulls.
    listed = f"IF({{0}} IS NULL, NULL, array_compact(array({', '.join(values)})))"
    return Lowered(components, listed if several else values[0])


def percentages(function: str, arg: Argument) -> tuple[tuple[float, ...], bool]:
    """The percentages that a literal or an array of literals names, and whether it is an array."""
    found, several = numbers(arg.sql)
    if not found or not all(0 <= p <= 1 for p in found):
        raise BadArgument(f"the percentage of {function}() must be a number from 0 to 1 or an array of such numbers, "
                          f"written out, not {arg.sql}.", "Write 0.5, or array(0.25, 0.5).")
    return found, several


def as_number(arg: Argument) -> Argument:
    """The argument, texts as doubles as Spark casts them."""
    if arg.type == "string":
        return Argument(f"CAST({arg.sql} AS DOUBLE)", "double")
    if arg.type in (*INTEGRAL, *FRACTIONAL) or arg.decimal:
        return arg
    raise UnsupportedType(arg.type)


def lower_mode(args: Args, only: str) -> Lowered:
    """mode(x): the least of the most frequent values, which is what mode(x, true) asks for."""
    arg = ordered(args[0])
    if len(args) > 1 and truth(args[1].sql) is None:
        raise BadArgument("the second argument of mode() must be true or false.", "Write mode(x, true).")
    return Lowered((bag(bags.MODE, arg, only, arg.type, f"mode({arg.sql})"),))


def lower_list(args: Args, only: str) -> Lowered:
    """collect_list(x): values of any type that goes to Python and back as it is."""
    arg = args[0]
    nested = arg.type.startswith(("struct<", "array<")) and not any(word in arg.type for word in NESTED)
    if not (nested or arg.type in ORDERED or arg.decimal):
        raise UnsupportedType(arg.type)
    return Lowered((bag(bags.LIST, arg, only, f"array<{arg.type}>", f"collect_list({arg.sql})"),))


def lower_set(args: Args, only: str) -> Lowered:
    """collect_set(x)."""
    arg = ordered(args[0])
    return Lowered((Component(bags.SET, (f"collect_set({arg.sql}){only}",), f"array<{arg.type}>"),))


# No call is spelled with a space: the reader gives this name to count(DISTINCT ...).
COUNT_DISTINCT = Aggregate("count distinct", lower_count_distinct, arity=(1, 99))
MEDIAN = Aggregate("median", lower_median)
PERCENTILE = Aggregate("percentile", lower_percentile, arity=(2, 3))
PERCENTILE_APPROX = Aggregate("percentile_approx", lower_approximate, ("approx_percentile",), arity=(2, 3))
MODE = Aggregate("mode", lower_mode, arity=(1, 2))
COLLECT_LIST = Aggregate("collect_list", lower_list, ("array_agg",))
COLLECT_SET = Aggregate("collect_set", lower_set)
