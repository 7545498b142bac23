"""count, count_if, sum and avg of rows behind a drop box, and their standard errors.

A row that was kept stands for WEIGHT rows, so Σw counts all of them and Σwx adds them up; Σw(w − 1)x² estimates the
variance of that without bias (`cost/shedding/estimates.py` has the same in plain numbers). All are sums, so slices add
them up as any other component, also where the share of kept rows changed in between.
"""

from __future__ import annotations

from weft.aggregates.base import FRACTIONAL, INTEGRAL, Argument, BadArgument, UnsupportedType, decimal_type
from weft.aggregates.component import FILTER, GUARD, Component, Lift, Lowered, lifted
from weft.aggregates.monoids import sums
from weft.aggregates.monoids.decimal_sums import DECIMAL_MEAN, DECIMAL_SUM

Args = tuple[Argument, ...]

# Columns that a drop box puts beside those of its source: for how many rows a row stands, and whether it might have
# been dropped.
WEIGHT, SAMPLED = "__weft_weight", "__weft_sampled"
EXCESS = f"CAST({WEIGHT} * ({WEIGHT} - 1) AS DOUBLE)"
ALL = "true"
# Below so many kept rows a normal interval covers far less than it says where values are skewed.
FEWEST_KEPT = 200
# A weight as a decimal, and the widest argument whose product with it is exact.
WEIGHT_DIGITS, WIDEST = 10, 27


def present(args: Args) -> str:
    """Spark SQL for whether no argument is null."""
    return " AND ".join(map(is_present, (a.sql for a in args))) or ALL


def is_present(value: str) -> str:
    """Spark SQL for whether a value is there."""
    return f"({value}) IS NOT NULL"


def under(test: str, condition: str) -> str:
    """Spark SQL for a test and a condition."""
    return test if condition == ALL else f"{test} AND ({condition})"


def where(condition: str) -> str:
    """A condition in words."""
    return "" if condition == ALL else f" where {condition}"


def added(value: str, only: str, kind: str, label: str) -> Component:
    """The sum of what rows bring, NULL where nothing is brought."""
    return Component(sums.SUM, (f"sum({value}){only}",), kind, label=label + only, lifts=(lifted(only, value),))


def counted_kept(condition: str, only: str) -> Component:
    """How many rows that meet a condition were kept of such as might have been dropped."""
    value = f"IF({under(SAMPLED, condition)}, 1, NULL)"
    label = f"kept rows{where(condition)}{only}"
    return Component(sums.COUNT, (f"count({value}){only}",), "bigint", label=label, lifts=(lifted(only, value, True),))


def weight_of(condition: str, only: str) -> Component:
    """For how many rows the rows stand that meet a condition."""
    value = f"IF({condition}, {WEIGHT}, NULL)" if condition != ALL else WEIGHT
    return added(value, only, "bigint", f"Σw{where(condition)}")


def weigh_count(args: Args, only: str) -> Lowered:
    """count(*), count(x), count(x, y) of all rows."""
    return Lowered((weight_of(present(args), only),), "coalesce({0}, 0L)")


def weigh_count_if(args: Args, only: str) -> Lowered:
    """count_if(condition) of all rows."""
    return Lowered((weight_of(args[0].sql, only),), "coalesce({0}, 0L)")


def weigh_sum(args: Args, only: str) -> Lowered:
    """sum(x) over all rows, in the type that Spark gives it."""
    arg = args[0]
    if arg.type in INTEGRAL:
        return Lowered((added(f"CAST({arg.sql} AS BIGINT) * {WEIGHT}", only, "bigint", f"Σw·{arg.sql}"),))
    if arg.decimal:
        precision, scale = arg.decimal
        value, count = decimal_product(arg), decimal_count(arg, only)
        kind = decimal_type(precision + WEIGHT_DIGITS + 11, scale)
        columns = (f"sum({value}){only}", count[0])
        lifts = (lifted(only, f"CAST({value} AS {kind})"), count[1])
        component = Component(DECIMAL_SUM, columns, kind, label=f"Σw·{arg.sql}{only}", lifts=lifts)
        return Lowered((component,), f"CAST({{0}} AS {decimal_type(precision + 10, scale)})")
    return Lowered((added(f"({as_double(arg)}) * {WEIGHT}", only, "double", f"Σw·{arg.sql}"),))


def weigh_avg(args: Args, only: str) -> Lowered:
    """avg(x) of all rows, by the ratio of two estimates; decimals divide in the kernel, as without a drop box."""
    arg = args[0]
    if arg.decimal:
        precision, scale = arg.decimal
        value, count = decimal_product(arg), decimal_count(arg, only)
        lifts = (lifted(only, f"CAST({value} AS {decimal_type(precision + WEIGHT_DIGITS + 11, scale)})"), count[1])
        component = Component(DECIMAL_MEAN, (f"sum({value}){only}", count[0]), decimal_type(precision + 4, scale + 4),
                              label=f"Σw·{arg.sql} / Σw{only}", lifts=lifts)
        return Lowered((component,))
    # As without a drop box, integers shorter than a bigint are added exactly.
    value = f"CAST({arg.sql} AS BIGINT)" if arg.type in INTEGRAL[:-1] else as_double(arg)
    kind = "bigint" if arg.type in INTEGRAL[:-1] else "double"
    total = added(f"({value}) * {WEIGHT}", only, kind, f"Σw·{arg.sql}")
    return Lowered((total, weight_of(is_present(value), only)), "{0} / {1}")


def as_double(arg: Argument) -> str:
    """A number, or a text that is one, as a double."""
    if arg.type in (*INTEGRAL, *FRACTIONAL, "string", "void") or arg.decimal:
        return arg.sql if arg.type == "double" else f"CAST({arg.sql} AS DOUBLE)"
    raise UnsupportedType(arg.type)


def decimal_product(arg: Argument) -> str:
    """A decimal times its weight, exactly."""
    assert arg.decimal
    if arg.decimal[0] > WIDEST:
        raise BadArgument(f"{arg.sql} of type {arg.type} has too many digits to be multiplied by a weight.",
                          f"Cast it to DOUBLE, or to a decimal of at most {WIDEST} digits.")
    return f"({arg.sql}) * CAST({WEIGHT} AS DECIMAL({WEIGHT_DIGITS}, 0))"


def decimal_count(arg: Argument, only: str) -> tuple[str, Lift]:
    """For how many rows those with a value stand, as the column beside a sum of decimals, and what a row brings."""
    value = f"IF({is_present(arg.sql)}, {WEIGHT}, NULL)"
    return f"coalesce(sum({value}){only}, 0L)", Lift(f"coalesce({lifted(only, value).sql}, 0L)")


def count_error(args: Args, only: str) -> Lowered:
    """The standard error of a count: √Σw(w − 1)."""
    return lowered_error(present(args), only, weigh_count(args, only), "sqrt({0})", spread(present(args), only, "0"))


def count_if_error(args: Args, only: str) -> Lowered:
    """The standard error of a count_if."""
    condition = f"coalesce({args[0].sql}, false)"
    return lowered_error(condition, only, weigh_count_if(args, only), "sqrt({0})", spread(condition, only, "0"))


def sum_error(args: Args, only: str) -> Lowered:
    """The standard error of a sum: √Σw(w − 1)x²."""
    value = as_double(args[0])
    return lowered_error(present(args), only, weigh_sum(args, only), "sqrt({0})", spread(value, only, "2"))


def avg_error(args: Args, only: str) -> Lowered:
    """The standard error of an average m of N rows: √Σw(w − 1)(x − m)² / N, of first order."""
    arg = args[0]
    value, mean = as_double(arg), weigh_avg((Argument(as_double(arg), "double"),), only)
    # Rounding must not make it negative.
    squares = "{2} - 2 * ({3} / {4}) * {1} + ({3} / {4}) * ({3} / {4}) * {0}"
    parts = (*(spread(v, only, power) for v, power in ((is_present(value), "0"), (value, "1"), (value, "2"))),
             *mean.components)
    return lowered_error(is_present(value), only, mean,
                         f"sqrt(IF({squares} > 0.0D, {squares}, 0.0D)) / {{4}}", *parts)


def spread(value: str, only: str, power: str) -> Component:
    """Σw(w − 1)x to a power; to the power 0 over the rows that meet a condition."""
    terms = {"0": f"IF({value}, {EXCESS}, NULL)" if value != ALL else EXCESS, "1": f"{EXCESS} * ({value})",
             "2": f"{EXCESS} * ({value}) * ({value})"}
    labels = {"0": where(value), "1": f"·{value}", "2": f"·({value})²"}
    return added(terms[power], only, "double", f"Σw(w−1){labels[power]}")


def lowered_error(condition: str, only: str, estimate: Lowered, error: str, *parts: Component) -> Lowered:
    """A standard error: 0 where no row could be dropped, NULL where too few rows were kept to tell, or nothing was."""
    kept, sampled = counted_kept(condition, only), counted_kept(ALL, unfiltered(only))
    components = (*parts, *estimate.components, kept, sampled)
    size, found = len(parts), len(estimate.components)
    shifted = estimate.sql
    for i in reversed(range(found)):
        shifted = shifted.replace(f"{{{i}}}", f"{{{size + i}}}")
    exact = f"IF(({shifted}) IS NULL, NULL, 0.0D)"
    place = size + found
    sql = f"IF({{{place + 1}}} = 0, {exact}, IF({{{place}}} < {FEWEST_KEPT}, NULL, {error}))"
    return Lowered(components, sql)


def unfiltered(only: str) -> str:
    """What is left of a FILTER clause without the call's own condition: the rows that a query reads."""
    return f"{FILTER}{GUARD})" if GUARD in only else ""
