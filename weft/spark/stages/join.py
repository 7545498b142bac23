"""A join of sources as rows: Spark's own inner joins, in the order and in the bins that a method says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from weft.aggregates.joined import SIGNS, pair_columns
from weft.aggregates.weighted import WEIGHT
from weft.model.join import (
    DAY,
    ZONE_JUMP,
    Join,
    JoinMethod,
    JoinStep,
    TimeBound,
    backquoted,
    bound_sql,
    key_sql,
    micros_sql,
)
from weft.spark.stages.partial import to_micros

# Columns of bins stand beside the inputs' own while two sides are joined.
LEFT_BIN, RIGHT_BIN = "__weft_left_bin", "__weft_right_bin"


def join_rows(join: Join, frames: Mapping[str, DataFrame], method: JoinMethod) -> DataFrame:
    """The rows of a join, with the columns of all of its inputs."""
    found, met = input_rows(join, method.first, frames), [method.first]
    for step in method.steps:
        found = join_step(join, found, input_rows(join, step.input, frames), met, step)
        met.append(step.input)
    named = found.select(*(F.col(backquoted(name)) for each in join.inputs for _, name in each.columns))
    return named.select("*", *(F.expr(sql).alias(name) for name, sql in weight_columns(join).items()))


def weight_columns(join: Join) -> dict[str, str]:
    """Spark SQL of what rows of a join stand for, where inputs of it are behind drop boxes."""
    named = [dict(each.columns) for each in join.inputs]
    return pair_columns([(backquoted(each[WEIGHT]), backquoted(each[SIGNS])) for each in named if WEIGHT in each])


def input_rows(join: Join, number: int, frames: Mapping[str, DataFrame]) -> DataFrame:
    """The rows of an input under the names that its columns have in the join."""
    each = join.inputs[number]
    return frames[each.source].select(*(F.col(backquoted(own)).alias(name) for own, name in each.columns))


def join_step(join: Join, left: DataFrame, right: DataFrame, met: Sequence[int], step: JoinStep) -> DataFrame:
    """The rows of some inputs joined with those of one more."""
    condition = join_condition(join, met, step.input)
    if step.bin:
        left, right = in_bins(join, left, right, step)
        condition = f"{LEFT_BIN} = {RIGHT_BIN} AND {condition}"
    return left.join(right, F.expr(condition), "inner").drop(LEFT_BIN, RIGHT_BIN)


def join_condition(join: Join, met: Sequence[int], number: int) -> str:
    """Spark SQL of what links an input with those before it, and no more rows than must meet.

    Less than a day is the same in every zone, so numbers are compared; a bound of days is asked as it was written too.
    """
    keys, implied = join.keys_between(met, number), join.implied_between(met, number)
    asked = join.bounds_between(met, number)
    if join.local:
        bounds = [bound_sql(bound, join.times) for bound in dict.fromkeys((*asked, *implied))]
    else:
        bounds = [micros_sql(bound, join.times) for bound in implied]
        bounds += [bound_sql(bound, join.times) for bound in asked if abs(bound.micros) >= DAY]
    return " AND ".join((*map(key_sql, keys), *bounds))


def stream_condition(join: Join, met: Sequence[int], number: int) -> str:
    """The same for streams: Spark finds out from intervals how long it must keep rows, and compares numbers first."""
    asked, implied = join.bounds_between(met, number), join.implied_between(met, number)
    near = [micros_sql(bound, join.times) for bound in implied]
    told = dict.fromkeys((*asked, *(as_interval(bound, asked) for bound in implied)))
    return " AND ".join((*map(key_sql, join.keys_between(met, number)), *near,
                         *(bound_sql(bound, join.times) for bound in told)))


def as_interval(bound: TimeBound, asked: Sequence[TimeBound]) -> TimeBound:
    """An implied bound that no row within it fails as an interval: Spark adds days by the calendar, and one that is a
    sum of shorter bounds has no room for clocks that change, as those of days have."""
    roomy = any((each.later, each.earlier, each.micros + ZONE_JUMP) == (bound.later, bound.earlier, bound.micros)
                for each in asked)
    return bound if roomy or abs(bound.micros) < DAY else replace(bound, micros=bound.micros + ZONE_JUMP)


def in_bins(join: Join, left: DataFrame, right: DataFrame, step: JoinStep) -> tuple[DataFrame, DataFrame]:
    """Both sides with a bin of time: one side's rows lie in one, the other's in the two that their partners can lie in.

    A bin is as wide as the span in which partners can lie, so these are two, and no pair of rows meets in both.
    """
    if step.copied:
        lefts = in_one_bin(join, left, step.partner, step)
        rights = in_two_bins(join, right, step.input, step.partner, step)
    else:
        lefts = in_two_bins(join, left, step.partner, step.input, step)
        rights = in_one_bin(join, right, step.input, step)
    return left.select("*", F.expr(lefts).alias(LEFT_BIN)), right.select("*", F.expr(rights).alias(RIGHT_BIN))


def in_one_bin(join: Join, rows: DataFrame, number: int, step: JoinStep) -> str:
    """Spark SQL for where the bin starts that a row's time lies in."""
    time = micros_of(join, number, rows)
    return f"{time} - pmod({time}, {step.bin}L)"


def in_two_bins(join: Join, rows: DataFrame, number: int, partner: int, step: JoinStep) -> str:
    """Spark SQL for where the two bins start, a row each, that times of a row's partners can lie in."""
    earliest = f"({micros_of(join, number, rows)} - {int(join.reach[number][partner])}L)"
    first = f"{earliest} - pmod({earliest}, {step.bin}L)"
    return f"explode(array({first}, {first} + {step.bin}L))"


def micros_of(join: Join, number: int, rows: DataFrame) -> str:
    """Spark SQL for the event time of an input as microseconds."""
    name = join.inputs[number].event_time
    assert name is not None
    return to_micros(backquoted(name), rows.schema[name].dataType.simpleString())
