"""approx_count_distinct over the registers of Spark's HyperLogLog++, made in SQL from Spark's own hashes."""

from __future__ import annotations

from math import ceil, log

from weft.aggregates.base import Aggregate, Argument, BadArgument
from weft.aggregates.component import Component, Lowered
from weft.aggregates.literals import parse_number
from weft.aggregates.min_max import ordered
from weft.aggregates.monoids.bags import REGISTERS

DEVIATION = 0.05  # Spark's own, where a call names none
LEAST, MOST = 4, 18  # bits of a register's number for which there are published biases


def lower_approx_count_distinct(args: tuple[Argument, ...], only: str) -> Lowered:
    """approx_count_distinct(x[, relative standard deviation])."""
    deviation = parse_number(args[1].sql) if len(args) > 1 else DEVIATION
    bits = ceil(2.0 * log(1.106 / deviation) / log(2.0)) if deviation and deviation > 0 else 0
    if not LEAST <= bits <= MOST:
        raise BadArgument("the deviation of approx_count_distinct() must be a number from 0.0022 to 0.39, written out.",
                          "Write 0.05, or count(DISTINCT x) for the exact number.")
    value = ordered(args[0]).sql
    column = f"collect_set({marked(value, bits)}){only}"
    label = f"approx_count_distinct({value}) of {bits} bits{only}"
    return Lowered((Component(REGISTERS, (column,), "bigint", label=label, parameters=(bits,)),))


def marked(value: str, bits: int) -> str:
    """Spark SQL for 64 times the register that a value goes to, plus its rank: where the rest of its hash has a one."""
    digest = f"xxhash64({value})"
    rest = f"shiftleft({digest}, {bits}) | {1 << bits - 1}L"  # with a one at its end, so that there is one
    return (f"CASE WHEN ({value}) IS NOT NULL THEN shiftrightunsigned({digest}, {64 - bits}) * 64 + 65 "
            f"- length(bin({rest})) END")


APPROX_COUNT_DISTINCT = Aggregate("approx_count_distinct", lower_approx_count_distinct, arity=(1, 2))
