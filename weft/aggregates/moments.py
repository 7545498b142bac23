"""Variance, deviation, skewness, kurtosis, covariance and correlation over mergeable central moments.

A slice keeps its count, mean and central moments; two slices merge by Chan's formulas, which add no large
numbers to take them away again. Spark's own aggregates give a slice's moments, so one pass of the JVM is enough.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.aggregates.base import FRACTIONAL, INTEGRAL, Aggregate, Argument, UnsupportedType
from weft.aggregates.component import FILTER, Component, Lowered, lifted
from weft.aggregates.count_sum_avg import counted
from weft.aggregates.monoids.moments import COMOMENTS, MOMENTS

Args = tuple[Argument, ...]
Lower = Callable[[Args, str], Lowered]


def numeric(arg: Argument) -> Argument:
    """The argument as a double, as Spark's statistical aggregates take it."""
    if arg.type not in (*INTEGRAL, *FRACTIONAL, "string", "void") and not arg.decimal:
        raise UnsupportedType(arg.type)
    return arg if arg.type == "double" else Argument(f"CAST({arg.sql} AS DOUBLE)", "double")


def countable(arg: Argument) -> Argument:
    """What to count: the argument itself, which aggregates of other kinds count too, if its cast loses no value."""
    return numeric(arg) if arg.type == "string" else arg


def moments(arg: Argument, only: str, order: int) -> Component:
    """Count, mean and central moments up to `order` of a slice, solved from Spark's own aggregates."""
    x = numeric(arg).sql
    counts = counted((countable(arg),), only)
    count = counts.columns[0]
    m2 = f"(var_pop({x}){only} * {count})"
    # A slice of equal values has that very value as its mean, so that merged slices of equal values keep m2 = 0.
    mean = f"IF(var_pop({x}){only} = 0, max({x}){only}, avg({x}){only})"
    m3 = f"coalesce(skewness({x}){only} * pow({m2}, 1.5) / nullif(sqrt({count}), 0), IF({m2} = 0, 0D, {m2}))"
    m4 = f"coalesce((kurtosis({x}){only} + 3) * {m2} * {m2} / nullif({count}, 0), IF({m2} = 0, 0D, {m2}))"
    columns = (count, mean, m2, m3, m4)[: order + 1]
    label = f"moments of {arg.sql} up to {order}{only}"
    lifts = (*counts.lifts, lifted(only, x), *[lifted(only, still(x))] * (order - 1))
    return Component(MOMENTS, columns, "double", ("m2", "m3", "m4")[: order - 1], label, lifts=lifts)


def still(x: str) -> str:
    """The central moments of one value: nothing, but of what is no finite number NaN, as Spark has it."""
    return f"abs({x}) * 0D"


def comoments(args: Args, only: str) -> Component:
    """Count, means and second moments of the rows where both arguments are non-null."""
    x, y = (numeric(a).sql for a in args)
    both = f"({x}) IS NOT NULL AND ({y}) IS NOT NULL"
    paired = only.replace(FILTER, f"{FILTER}{both} AND (", 1) + ")" if only else f"{FILTER}{both})"
    mean_x = f"IF(regr_sxx({y}, {x}){only} = 0, max({x}){paired}, regr_avgx({y}, {x}){only})"
    mean_y = f"IF(regr_syy({y}, {x}){only} = 0, max({y}){paired}, regr_avgy({y}, {x}){only})"
    sums = tuple(f"{f}({y}, {x}){only}" for f in ("regr_sxy", "regr_sxx", "regr_syy"))
    counts = counted(tuple(countable(a) for a in args), only)
    columns = (counts.columns[0], mean_x, mean_y, *sums)
    label = f"comoments of {args[0].sql} and {args[1].sql}{only}"
    rest = (x, y, f"{still(x)} + {still(y)}", still(x), still(y))
    lifts = (*counts.lifts, *(lifted(paired, value) for value in rest))
    return Component(COMOMENTS, columns, "double", ("sxy", "sxx", "syy"), label, lifts=lifts)


def moment(order: int, sql: str) -> Lower:
    """The lowering of an aggregate of one argument: `{0}` its moments, `{1}` its count."""

    def lower(args: Args, only: str) -> Lowered:
        return Lowered((moments(args[0], only, order), counted((countable(args[0]),), only)), sql)

    return lower


def comoment(sql: str) -> Lower:
    """The lowering of an aggregate of two arguments: `{0}` their comoments, `{1}` their count."""

    def lower(args: Args, only: str) -> Lowered:
        return Lowered((comoments(args, only), counted(tuple(countable(a) for a in args), only)), sql)

    return lower


POPULATION = "CASE WHEN {1} > 0 THEN {0.m2} / {1} END"
SAMPLE = "CASE WHEN {1} > 1 THEN {0.m2} / ({1} - 1) END"
SKEW = "CASE WHEN {1} > 0 AND {0.m2} <> 0 THEN sqrt({1}) * {0.m3} / sqrt({0.m2} * {0.m2} * {0.m2}) END"
KURT = "CASE WHEN {1} > 0 AND {0.m2} <> 0 THEN {1} * {0.m4} / ({0.m2} * {0.m2}) - 3D END"
CORRELATION = "CASE WHEN {1} > 1 AND {0.sxx} <> 0 AND {0.syy} <> 0 THEN {0.sxy} / sqrt({0.sxx} * {0.syy}) END"

VAR_POP = Aggregate("var_pop", moment(2, POPULATION))
VAR_SAMP = Aggregate("var_samp", moment(2, SAMPLE), ("variance",))
STDDEV_POP = Aggregate("stddev_pop", moment(2, f"sqrt({POPULATION})"))
STDDEV_SAMP = Aggregate("stddev_samp", moment(2, f"sqrt({SAMPLE})"), ("stddev", "std"))
SKEWNESS = Aggregate("skewness", moment(3, SKEW))
KURTOSIS = Aggregate("kurtosis", moment(4, KURT))
COVAR_POP = Aggregate("covar_pop", comoment("CASE WHEN {1} > 0 THEN {0.sxy} / {1} END"), arity=(2, 2))
COVAR_SAMP = Aggregate("covar_samp", comoment("CASE WHEN {1} > 1 THEN {0.sxy} / ({1} - 1) END"), arity=(2, 2))
CORR = Aggregate("corr", comoment(CORRELATION), arity=(2, 2))
