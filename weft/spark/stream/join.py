"""A join in front of a stream's slices: Spark's own join of streams in append mode, whose rows are then cut as others.

Each stream has a watermark of its own, and Spark takes the least of all: a stream that brings no rows holds all answers
back. A row of a join can come as late as its latest partner, so answers come later by the join's bounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from weft.aggregates.joined import SIGNS
from weft.aggregates.weighted import WEIGHT
from weft.errors import RunError
from weft.io.arrivals import CORRUPT, DELAY, LETTER, TIME, StreamInput, find_faults, keep_usable
from weft.model.graph import StageGraph
from weft.model.join import Join, backquoted, plain_method
from weft.model.stages import Column as StageColumn
from weft.model.stages import JoinStage, PartialStage
from weft.spark.stages.join import stream_condition, weight_columns
from weft.spark.stages.partial import kept_above
from weft.spark.stream.progress import SOURCE_PREFIX

# Spark takes these down in a checkpoint with its first trigger. The state of a join has the columns that are selected
# below it: if Spark left out those that nobody reads, another version of it might leave out others, and read no state.
JOIN_SETTINGS = {
    "spark.sql.streaming.join.stateFormatVersion": "4",
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
}
# Else Spark looks every row up before it puts or removes it, only to know how many there are, which is nearly half of
# what its join takes; Weft counts them by what each trigger adds and removes.
TRACKING = "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows"
EXCLUDED = "spark.sql.optimizer.excludedRules"
PRUNING = "org.apache.spark.sql.catalyst.optimizer.ColumnPruning"


@dataclass(frozen=True)
class JoinedArrivals:
    """The rows of a join as they come, marked with their event time, and the sources that they are made of, each with
    the faults that keep a row of it out."""

    rows: DataFrame
    sources: tuple[tuple[DataFrame, dict[str, str]], ...]
    settings: Mapping[str, str]


def join_of(scan: StageGraph) -> Join | None:
    """The join that a scan reads, if its source is one."""
    stage = scan[scan.root.inputs[0]].stage
    return stage.join if isinstance(stage, JoinStage) else None


def joins_streams(join: Join | None) -> bool:
    """Whether a join keeps rows of streams: the operator behind it gets a lower watermark than Spark's logs tell of."""
    return join is not None and len(join.streams) > 1


def carried_columns(join: Join, stage: PartialStage) -> tuple[str, ...]:
    """The columns of a join that its conditions and a scan over it read, in the order of its inputs."""
    texts = [stage.time, *stage.keys, *(p for p in stage.predicates if p), *(column.sql for column in stage.columns),
             *(column.lift.sql for column in stage.columns if column.lift), *join.conditions]
    words = {found for text in texts for found in re.findall(r"`(?:[^`]|``)+`", text)}
    return tuple(name for each in join.inputs for own, name in each.columns
                 if backquoted(name) in words or name == each.event_time or own in (WEIGHT, SIGNS))


def require_joinable(join: Join, stage: PartialStage) -> None:
    """Raise where a stream cannot follow the time of a window over a join."""
    times = [time for time in join.times if time]
    if stage.time not in times:
        raise RunError(f"a stream over {join.name} follows the event time of one of its sources, and a window is over "
                       f"{stage.time}: group by window({times[0]}, ...), or run it as a batch.")
    if stage.time_type != "timestamp":
        raise RunError(f"a stream over {join.name} needs event times of type timestamp, not {stage.time_type}: cast "
                       "them in the sources, or run it as a batch.")


def join_arrivals(spark: SparkSession, scan: StageGraph, join: Join, arrivals: Mapping[str, StreamInput],
                  tables: Mapping[str, DataFrame], max_clock_skew: int | None) -> JoinedArrivals:
    """The rows of a scan's join, of streams as they come and of tables as they are when the stream starts."""
    stage = scan.root.stage
    require_joinable(join, stage)
    streams = dict.fromkeys(each.source for each in join.inputs if each.time)
    read = {name: arrivals[name].read(spark) for name in streams}
    faults = {name: find_faults(frame.columns, time_of(join, name), max_clock_skew) for name, frame in read.items()}
    usable = {name: keep_usable(frame, faults[name]) for name, frame in read.items()}
    delays = {name: arrivals[name].delay(spark) for name in streams}
    inputs = JoinInputs(join, frozenset(carried_columns(join, stage)), usable, tables, delays)
    asked = {word for column in stage.columns for word in re.findall(r"\b__weft_\w+", column_text(column))}
    rows = with_event_time(inputs.joined(asked), stage.time, max(delays.values()))
    return JoinedArrivals(rows, tuple((read[name], faults[name]) for name in read), join_settings(spark))


@dataclass(frozen=True)
class JoinInputs:
    """What a join reads: the usable rows of streams, which may be late by so many milliseconds, tables, and the columns
    that are carried of them."""

    join: Join
    carried: frozenset[str]
    streams: Mapping[str, DataFrame]
    tables: Mapping[str, DataFrame]
    delays: Mapping[str, int]

    def joined(self, asked: AbstractSet[str] = frozenset()) -> DataFrame:
        """The rows of all inputs, joined in the order that every start takes; with their weights, where inputs are
        behind drop boxes, and what else is asked of these."""
        method = plain_method(self.join)
        found, met = self.rows(method.first), [method.first]
        for step in method.steps:
            found = found.join(self.rows(step.input), F.expr(stream_condition(self.join, met, step.input)), "inner")
            met.append(step.input)
            found = found.select(*one_event_time(self.join, found.columns, met))
        weights = {name: sql for name, sql in weight_columns(self.join).items() if name in {WEIGHT, *asked}}
        return found.select("*", *(F.expr(sql).alias(name) for name, sql in weights.items()))

    def rows(self, number: int) -> DataFrame:
        """The rows of an input; those of a stream have a watermark, and metrics are told how far they have come."""
        each, columns = self.join.inputs[number], list(self.columns(number))
        if each.event_time is None:
            return self.tables[each.source].select(*columns)
        delay, time, found = self.delays[each.source], backquoted(each.event_time), self.streams[each.source]
        box = [F.col(WEIGHT)] if WEIGHT in found.columns else []
        seen = found.select(*columns, *box).observe(
            f"{SOURCE_PREFIX}{each.alias}", F.expr(f"unix_millis(max({time}))").alias("latest"),
            F.lit(delay).alias("delay"))
        marked = seen.withWatermark(time, f"{delay} milliseconds")
        # Behind the watermark, which follows all rows, and before the join keeps them.
        return kept_above(marked, f"{WEIGHT} > 0").drop(WEIGHT) if box else marked

    def columns(self, number: int) -> Iterator[Column]:
        """The columns of an input that are carried, under their names in the join."""
        return (F.col(backquoted(own)).alias(name) for own, name in self.join.inputs[number].columns
                if name in self.carried)


def column_text(column: StageColumn) -> str:
    """All SQL of a column of slices."""
    return f"{column.sql} {column.lift.sql if column.lift else ''}"


def with_event_time(rows: DataFrame, time: str, delay: int) -> DataFrame:
    """The rows of a join with TIME, the only one that Spark takes for an event time, and without dead letters."""
    plain = [F.col(backquoted(name)).alias(name, metadata={}) for name in rows.columns]
    return rows.select(*plain, F.expr(time).alias(TIME, metadata={DELAY: delay}),
                       F.lit(None).cast("string").alias(LETTER))


def time_of(join: Join, source: str) -> str:
    """The event time of a source, as its rows have it."""
    return backquoted(next(each.time for each in join.inputs if each.source == source and each.time))


def one_event_time(join: Join, columns: Sequence[str], met: Sequence[int]) -> list[Column]:
    """All columns, of which the first stream's time alone is an event time to Spark: it wants no two of them."""
    first = next((join.inputs[number].event_time for number in met if join.inputs[number].time), None)
    times = {each.event_time for each in join.inputs} - {first, None}
    return [F.col(backquoted(name)).alias(name, metadata={}) if name in times else F.col(backquoted(name))
            for name in columns]


def join_settings(spark: SparkSession) -> dict[str, str]:
    """What the session is set to while a scan over a join starts; who has chosen to have rows counted has reasons."""
    excluded = [rule for rule in str(spark.conf.get(EXCLUDED, "") or "").split(",") if rule.strip()]
    tracking = {TRACKING: "false"} if spark.conf.get(TRACKING, None) is None else {}
    return {**JOIN_SETTINGS, **tracking, EXCLUDED: ",".join(dict.fromkeys((*excluded, PRUNING)))}


def has_corrupt(found: JoinedArrivals) -> bool:
    """Whether records of some source are known that did not parse."""
    return any(CORRUPT in frame.columns for frame, _ in found.sources)
