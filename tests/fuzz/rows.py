"""Rows of many results in one Spark job, and whether two results agree.

Decimals, integers, texts and times must be equal to the last digit, reals within rounding. Moments are rounded on their
way, in Spark as in Weft, by as much as their largest values ask for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DecimalType, FractionalType, IntegralType, MapType, StructType

OPTIONS = {"ignoreNullFields": "false", "timestampFormat": "yyyyyy-MM-dd HH:mm:ss.SSSSSSXXXXX",
           "timestampNTZFormat": "yyyyyy-MM-dd HH:mm:ss.SSSSSS", "dateFormat": "yyyyyy-MM-dd"}
EXACT, LOOSE = 1e-9, 1e-6


@dataclass(frozen=True)
class Result:
    """The columns and rows of a query."""

    columns: tuple[tuple[str, str], ...]
    rows: list[list[Any]]


def collect(frames: Mapping[str, DataFrame]) -> dict[str, Result]:
    """The results of all frames, in one job."""
    texts = [as_text(name, frame) for name, frame in frames.items()]
    found: dict[str, list[str]] = {name: [] for name in frames}
    for name, text in reduce(DataFrame.union, texts).collect():
        found[name].append(text)
    return {name: result_of(frame, found[name]) for name, frame in frames.items()}


def as_text(name: str, frame: DataFrame) -> DataFrame:
    """The frame as its name and one JSON text a row."""
    plain = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    return plain.select(F.lit(name), F.to_json(F.struct(*plain.columns), OPTIONS))


def result_of(frame: DataFrame, texts: Sequence[str]) -> Result:
    """The rows that texts hold, each value as its type asks."""
    fields = frame.schema.fields
    rows = [json.loads(text, parse_float=str, parse_int=str) for text in texts]
    decoded = [[decode(row[f"c{i}"], field.dataType) for i, field in enumerate(fields)] for row in rows]
    return Result(tuple((field.name, field.dataType.simpleString()) for field in fields), decoded)


def decode(value: Any, kind: DataType) -> Any:
    """A value of JSON as one of Python."""
    if value is None:
        return None
    if isinstance(kind, StructType):
        return [decode(value.get(field.name), field.dataType) for field in kind.fields]
    if isinstance(kind, ArrayType):
        return ["[", *(decode(inner, kind.elementType) for inner in value)]
    if isinstance(kind, MapType):
        return ["{", *sorted([key, decode(inner, kind.valueType)] for key, inner in value.items())]
    if isinstance(kind, DecimalType):
        return Decimal(value)
    if isinstance(kind, IntegralType):
        return int(value)
    return float(value) + 0.0 if isinstance(kind, FractionalType) else value


def differing(ours: Result, theirs: Result, loose: Sequence[bool], bags: Sequence[bool]) -> str | None:
    """What differs between two results, as sets of rows, or None."""
    if ours.columns != theirs.columns:
        return f"columns {list(ours.columns)}, Spark's own {list(theirs.columns)}"
    left, right = (sorted((bagged(row, bags) for row in result.rows), key=lambda row: order(row, loose))
                   for result in (ours, theirs))
    if len(left) != len(right):
        return f"{len(left)} rows, Spark's own {len(right)}{odd_one(left, right)}"
    slack = [largest(column) for column in zip(*right, strict=True)]
    for a, b in zip(left, right, strict=True):
        if not all(alike(x, y, soft, big) for x, y, soft, big in zip(a, b, loose, slack, strict=True)):
            return f"ours {a}, Spark's own {b}"
    return None


def odd_one(left: list, right: list) -> str:
    """The first row that only one of two results has."""
    ours, theirs = {repr(row) for row in left}, {repr(row) for row in right}
    only = next(((who, row) for who, row in [*(("ours", r) for r in ours - theirs),
                                             *(("Spark's own", r) for r in theirs - ours)]), None)
    return f"; only {only[0]} has {only[1]}" if only else ""


def bagged(row: list, bags: Sequence[bool]) -> list:
    """The row, lists that have no order in an order of ours."""
    return [in_order(value) if bag else value for value, bag in zip(row, bags, strict=True)]


def in_order(value: Any) -> Any:
    """A value with its lists sorted."""
    if not isinstance(value, list):
        return value
    inner = [in_order(one) for one in value]
    return [inner[0], *sorted(inner[1:], key=repr)] if inner and inner[0] == "[" else inner


def order(row: list, loose: Sequence[bool]) -> tuple:
    """A sorting key: exact values first, then reals, then what is rounded."""
    exact = [repr(v) for v, soft in zip(row, loose, strict=True) if not soft and not isinstance(v, float)]
    reals = [f"{v:.9e}" for v, soft in zip(row, loose, strict=True) if not soft and isinstance(v, float)]
    return exact, reals, [repr(v) for v, soft in zip(row, loose, strict=True) if soft]


def largest(values: Sequence[Any]) -> float:
    """The largest finite real among values."""
    flat = [real for value in values for real in reals_in(value)]
    return max((abs(real) for real in flat if math.isfinite(real)), default=0.0)


def reals_in(value: Any) -> list[float]:
    """The reals in a value."""
    if isinstance(value, list):
        return [real for inner in value for real in reals_in(inner)]
    return [value] if isinstance(value, float) else []


def alike(x: Any, y: Any, loose: bool, largest: float) -> bool:
    """Whether two values agree, reals within rounding."""
    if isinstance(x, list) and isinstance(y, list):
        return len(x) == len(y) and all(alike(a, b, loose, largest) for a, b in zip(x, y, strict=True))
    if isinstance(x, float) and isinstance(y, float):
        near = LOOSE if loose else EXACT
        return x == y or (x != x and y != y) or math.isclose(x, y, rel_tol=near, abs_tol=1e-7 * largest if loose else 0)
    return x == y
