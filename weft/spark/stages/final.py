"""The final stage on Spark: slices to Python by key, answers back as arrays along time, one row per key and window."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, ByteType, DataType, IntegerType, LongType, StructField, StructType

from weft.aggregates.component import Component
from weft.final.fold.partition import columns_read, fold_partition
from weft.final.prompt import Prompt
from weft.model.stages import FinalStage, PartialStage
from weft.spark.stages.partial import SLICE
from weft.spark.stages.partitions import repartition_evenly
from weft.stages.build import value_column


def run_final(slices: DataFrame, stage: PartialStage, final: FinalStage) -> DataFrame:
    """The answers of a final stage: `w`, keys `k0 …`, `first`, `slide`, `range`, `starts`, arrays per component."""
    place = stage.place
    types = {sql: slices.schema[place[sql, number]].dataType for sql, number in columns_read(final)}
    schema = answer_schema(slices.schema, stage, final, types)
    return send_slices(slices, stage, final).mapInArrow(Prompt(partial(fold_partition, final)), schema)


def send_slices(slices: DataFrame, stage: PartialStage, final: FinalStage) -> DataFrame:
    """The slices as workers take them: keys, start, marks and the columns that are read; a key lies in one place."""
    read = (F.col(stage.place[column]).alias(f"c{i}") for i, column in enumerate(columns_read(final)))
    sent = slices.select(*stage.key_names, SLICE, *stage.mark_names[: final.marks], *read)
    return repartition_evenly(sent, *stage.key_names) if stage.key_names else sent.repartition(1)


def answer_schema(slices: StructType, stage: PartialStage, final: FinalStage,
                  types: Mapping[str, DataType]) -> StructType:
    """The wire format. Arrays hold no nulls: checking each element for null costs more than sending it."""
    longs = ArrayType(LongType(), containsNull=False)
    keys = [rename_field(slices[name], f"k{i}") for i, name in enumerate(stage.key_names)]
    fields = [StructField("w", IntegerType(), False), *keys]
    if final.predicates:
        fields.append(StructField(f"k{len(stage.keys)}", IntegerType(), False))
    fields += [StructField(name, LongType(), False) for name in ("first", "slide", "range")]
    fields.append(StructField("starts", longs, True))
    for i, component in enumerate(final.components):
        fields += component_fields(i, component, value_type(component, types), bool(final.asked))
    return StructType(fields)


def rename_field(field: StructField, name: str) -> StructField:
    """A field under another name."""
    return StructField(name, field.dataType, field.nullable)


def value_type(component: Component, types: Mapping[str, DataType]) -> DataType:
    """The type of a component's answers: that of the slices where a slice lends its value, else the component's."""
    return types[component.columns[0]] if component.monoid.lends else type_named(component.type)


def type_named(kind: str) -> DataType:
    """The type that simpleString names: `timestamp` is a moment, whatever the session reads in that word."""
    return DataType.fromDDL(re.sub(r"\btimestamp\b(?!:)", "timestamp_ltz", kind))


def component_fields(index: int, component: Component, value: DataType, partly: bool) -> list[StructField]:
    """A component's arrays: its fields, and a mark if it may be null. A count that equals the rows is not sent, nor
    what only some windows ask for, by those that do not."""
    kind = ArrayType(value, containsNull=not component.fixed_width)
    left_out = partly or component.monoid.counts
    fields = [StructField(value_column(index, field), kind, left_out) for field in component.fields]
    if component.nullable:
        fields.append(StructField(value_column(index, "mark"), ByteType(), False))
    return fields
