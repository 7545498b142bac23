"""error(count(*)), error(sum(x)) …: how far an answer of a part of the rows may be from that of all of them."""

from __future__ import annotations

from collections.abc import Callable

from weft.aggregates.base import Aggregate, Argument
from weft.aggregates.component import Lowered
from weft.aggregates.count_sum_avg import AVG, COUNT, COUNT_IF, SUM
from weft.aggregates.weighted import avg_error, count_error, count_if_error, sum_error

Args = tuple[Argument, ...]
FUNCTION = "error"


def standard_error(aggregate: Aggregate, weigh: Callable[[Args, str], Lowered]) -> Aggregate:
    """The standard error of an aggregate: 0 where all rows are read, and NULL where its answer is."""

    def lower(args: Args, only: str) -> Lowered:
        answer = aggregate.lower(args, only)
        return Lowered(answer.components, f"IF(({answer.sql}) IS NULL, NULL, 0.0D)")

    return Aggregate(f"{FUNCTION} {aggregate.name}", lower, arity=aggregate.arity, weigh=weigh)


ERRORS: tuple[Aggregate, ...] = (
    standard_error(COUNT, count_error),
    standard_error(COUNT_IF, count_if_error),
    standard_error(SUM, sum_error),
    standard_error(AVG, avg_error),
)
