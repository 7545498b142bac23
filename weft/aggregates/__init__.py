"""Every aggregate Weft runs, as shared components over a few monoids. To add one: one file and one line."""

from __future__ import annotations

from weft.aggregates.base import Aggregate, Argument, BadArgument, UnsupportedType
from weft.aggregates.bits import BIT_AND, BIT_OR, BIT_XOR
from weft.aggregates.component import ROWS, Component, Lowered
from weft.aggregates.count_sum_avg import AVG, COUNT, COUNT_IF, SUM
from weft.aggregates.holistic import (
    COLLECT_LIST,
    COLLECT_SET,
    COUNT_DISTINCT,
    MEDIAN,
    MODE,
    PERCENTILE,
    PERCENTILE_APPROX,
)
from weft.aggregates.min_max import BOOL_AND, BOOL_OR, MAX, MAX_BY, MIN, MIN_BY
from weft.aggregates.moments import (
    CORR,
    COVAR_POP,
    COVAR_SAMP,
    KURTOSIS,
    SKEWNESS,
    STDDEV_POP,
    STDDEV_SAMP,
    VAR_POP,
    VAR_SAMP,
)
from weft.aggregates.sketches import APPROX_COUNT_DISTINCT
from weft.aggregates.standard_errors import ERRORS

AGGREGATES: tuple[Aggregate, ...] = (
    COUNT,
    COUNT_IF,
    SUM,
    AVG,
    MIN,
    MAX,
    MIN_BY,
    MAX_BY,
    BOOL_AND,
    BOOL_OR,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    VAR_POP,
    VAR_SAMP,
    STDDEV_POP,
    STDDEV_SAMP,
    SKEWNESS,
    KURTOSIS,
    COVAR_POP,
    COVAR_SAMP,
    CORR,
    COUNT_DISTINCT,
    MEDIAN,
    PERCENTILE,
    PERCENTILE_APPROX,
    MODE,
    COLLECT_LIST,
    COLLECT_SET,
    APPROX_COUNT_DISTINCT,
)
_BY_NAME = {name: aggregate for aggregate in (*AGGREGATES, *ERRORS) for name in aggregate.names}


def find(name: str) -> Aggregate | None:
    """The aggregate of that name, in any spelling and case."""
    return _BY_NAME.get(name.lower())


__all__ = ["AGGREGATES", "ERRORS", "ROWS", "Aggregate", "Argument", "BadArgument", "Component", "Lowered",
           "UnsupportedType", "find"]
