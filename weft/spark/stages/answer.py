"""The answer stage on Spark: arrays become rows, calls are lowered, HAVING and outputs projected, all in the JVM."""

from __future__ import annotations

import json

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from weft.aggregates.component import ROWS, Component
from weft.model.query import CALL, KEY, WINDOW
from weft.model.stages import AnswerStage, FinalStage, PartialStage
from weft.stages.build import value_column

NESTED = (ArrayType, MapType, StructType)
START = "IF(starts IS NULL, first + pos * slide, starts[pos])"


def to_timestamp_sql(sql: str, kind: str) -> str:
    """Spark SQL for microseconds since the epoch as the window's timestamp type."""
    if kind == "timestamp_ntz":
        return f"timestampadd(MICROSECOND, {sql}, TIMESTAMP_NTZ'1970-01-01 00:00:00')"
    return f"timestamp_micros({sql})"


def run_answer(wire: DataFrame, partial: PartialStage, final: FinalStage, stage: AnswerStage) -> DataFrame:
    """The rows of every query of the stage: `w` the number of the window, `q` that of the predicate, outputs `o0 …`."""
    exploded = explode_answers(wire, final)
    window = f"{stage.window or window_struct(partial)} AS {WINDOW}"
    keys = [f"k{i} AS {KEY.format(i)}" for i in range(len(partial.keys))]
    number = f"k{len(partial.keys)} AS q" if partial.numbered else "0 AS q"
    sent = [f"k{i}" for i in range(len(partial.keys) + partial.numbered)]
    fields = ["w", "pos", "first", "slide", "range", "starts", *sent]
    values = [sql for i, component in enumerate(final.components) for sql in component_values(i, component)]
    read = exploded.selectExpr(*fields, *values)
    calls = [f"{sql} AS {CALL.format(i)}" for i, sql in enumerate(stage.calls)]
    answers = read.selectExpr("w", number, *keys, window, *calls)
    if stage.having:
        answers = answers.where(stage.having)
    return answers.select("w", "q", *outputs_of(answers, stage))


def outputs_of(answers: DataFrame, stage: AnswerStage) -> list[Column]:
    """The outputs `o0 …` in the types that Spark's analyser gave them."""
    texts, types = [F.expr(o.sql) for o in stage.outputs], [parse_type(o.type) for o in stage.outputs]
    if any(isinstance(kind, NESTED) for kind in types):
        # A stream's aggregates and what Python sends may be null in Spark's eyes where no value ever is.
        found = answers.select(*texts).schema.fields
        types = [loosened(kind, field.dataType) for kind, field in zip(types, found, strict=True)]
    return [text.cast(kind).alias(f"o{i}") for i, (text, kind) in enumerate(zip(texts, types, strict=True))]


def loosened(kind: DataType, found: DataType) -> DataType:
    """A type that also allows nulls wherever another one does within: Spark casts no nullable value to one that is not.
    """
    if isinstance(kind, ArrayType) and isinstance(found, ArrayType):
        return ArrayType(loosened(kind.elementType, found.elementType), kind.containsNull or found.containsNull)
    if isinstance(kind, MapType) and isinstance(found, MapType):
        values = loosened(kind.valueType, found.valueType)
        return MapType(loosened(kind.keyType, found.keyType), values, kind.valueContainsNull or found.valueContainsNull)
    if isinstance(kind, StructType) and isinstance(found, StructType) and len(kind) == len(found):
        return StructType([StructField(a.name, loosened(a.dataType, b.dataType), a.nullable or b.nullable)
                           for a, b in zip(kind.fields, found.fields, strict=True)])
    return kind


def window_struct(partial: PartialStage) -> str:
    """Spark SQL for the times of a window as its slices tell them."""
    begin, end = to_timestamp_sql(START, partial.time_type), to_timestamp_sql(f"{START} + range", partial.time_type)
    return f"named_struct('start', {begin}, 'end', {end})"


def parse_type(json_text: str) -> DataType:
    """The Spark type that the JSON text names."""
    field = {"name": "value", "type": json.loads(json_text), "nullable": True, "metadata": {}}
    return StructType.fromJson({"type": "struct", "fields": [field]})["value"].dataType


def explode_answers(wire: DataFrame, final: FinalStage) -> DataFrame:
    """One row per answer: `pos` its place in the arrays, and the first component's value at hand."""
    first = value_column(0, final.components[0].fields[0])
    others = [name for name in wire.columns if name != first]
    return wire.select(*others, F.posexplode(first).alias("pos", first))


def component_values(index: int, component: Component) -> list[str]:
    """The values of one answer's component, null where its mark says so, raising where a sum overflowed."""
    names = [value_column(index, field) for field in component.fields]
    at = [name if index == 0 and i == 0 else f"{name}[pos]" for i, name in enumerate(names)]
    if component == ROWS:
        return [f"{at[0]} AS {names[0]}"]
    if component.monoid.counts:
        return [f"IF({names[0]} IS NULL, {value_column(0, 'value')}, {at[0]}) AS {names[0]}"]
    mark = value_column(index, "mark")
    return [f"IF({mark} = 1, {value}, {missing_value(component, mark)}) AS {name}"
            for value, name in zip(at, names, strict=True)]


def missing_value(component: Component, mark: str) -> str:
    """NULL, or what makes Spark raise its own overflow error where the mark is 2 and answers may overflow."""
    if not component.monoid.overflows(component.type):
        return "NULL"
    return f"IF({mark} = 0, NULL, CAST(9223372036854775807L + {mark} AS {component.type}))"
