"""Errors of estimates over a join whose inputs stand behind drop boxes.

Rows of a result that are made of the same row, or of the same key, are kept or lost together, so the variance of a sum
is one over sums: Σ_a w(w − 1) Y_a², with Y_a what all pairs of row a bring (`cost/shedding/join_variance.py`). No slice
can add that up, for a row's pairs lie in many. But give each row a sign by its hash: the square of Σ ±√(w(w − 1)) Y_a
is Σ w(w − 1) Y_a² on average over signs (Alon, Matias and Szegedy), and what is squared is a plain sum. The average
of SKETCHES squares, each by signs of its own, is off by a third or so, and its root by a sixth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType

from weft.aggregates.base import Argument
from weft.aggregates.component import Component, Lowered
from weft.aggregates.weighted import (
    ALL,
    FEWEST_KEPT,
    SAMPLED,
    WEIGHT,
    added,
    as_double,
    counted_kept,
    is_present,
    present,
    unfiltered,
    weigh_avg,
    weigh_count,
    weigh_count_if,
    weigh_sum,
    weight_of,
)

Args = tuple[Argument, ...]

# Beside the weight of an input's row: 64 signs by its hash.
SIGNS = "__weft_signs"
# Beside the weight of a joined row: what each sketch adds up of it, and what was counted for both of its rows.
TURN, BOTH = "__weft_turn_{}", "__weft_both"
SKETCHES = 16


def pair_columns(boxes: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Spark SQL of the columns that a row of a join has behind drop boxes, each given by the columns of its weight and
    of its signs; none without any. What errors are made of is NULL where there are more than two."""
    if not boxes:
        return {}
    weights = [weight for weight, _ in boxes]
    turns = {TURN.format(i): turn(boxes, i) for i in range(SKETCHES)}
    both = " * ".join(excess(weight) for weight in weights) if len(boxes) == 2 else "0.0D"
    return {WEIGHT: " * ".join(weights), SAMPLED: "true", BOTH: both, **turns}


def turn(boxes: Sequence[tuple[str, str]], number: int) -> str:
    """Spark SQL for what a row of a join brings to a sketch: for each box the root of what its weight adds to the
    variance, times the other's weight, with the sign of its row."""
    if len(boxes) > 2:
        return "CAST(NULL AS DOUBLE)"
    parts = []
    for i, (weight, signs) in enumerate(boxes):
        others = "".join(f" * {other}" for j, (other, _) in enumerate(boxes) if j != i)
        parts.append(f"IF((shiftright({signs}, {number}) & 1L) = 0L, 1.0D, -1.0D) * sqrt({excess(weight)}){others}")
    return " + ".join(parts)


def excess(weight: str) -> str:
    """Spark SQL for w(w − 1)."""
    return f"CAST({weight} * ({weight} - 1) AS DOUBLE)"


class Parts:
    """Components of a call in order, and the variance of sums of them as SQL."""

    def __init__(self) -> None:
        self.made: list[Component] = []

    def put(self, component: Component) -> str:
        """A component's place in SQL."""
        self.made.append(component)
        return f"{{{len(self.made) - 1}}}"

    def sketches(self, value_of: Callable[[str], str], only: str, label: str) -> list[str]:
        """The places of all sketches of a value, given what it makes of a factor."""
        return [self.put(added(value_of(TURN.format(i)), only, "double", f"sketch {i} of {label}"))
                for i in range(SKETCHES)]

    def lowered(self, estimate: Lowered) -> str:
        """An estimate as SQL over its components, which come behind the others."""
        size = len(self.made)
        self.made += estimate.components
        found = estimate.sql
        for i in reversed(range(len(estimate.components))):
            found = found.replace(f"{{{i}}}", f"{{{size + i}}}")
        return found


def variance_sql(turns: Sequence[str], both: str) -> str:
    """Spark SQL for a variance: the mean of the squares, less what both sides have counted."""
    return f"(({' + '.join(f'({each}) * ({each})' for each in turns)}) / {len(turns)}.0D - ({both}))"


def joined_error(condition: str, only: str, estimate: Lowered, value: str | None = None, mean: bool = False) -> Lowered:
    """The standard error of a call: 0 where no row could be dropped; NULL where the number of rows is itself off by as
    much as that of fewer than FEWEST_KEPT independent ones, where nothing was kept, or where sketches cannot tell."""
    parts = Parts()

    def counting(factor: str) -> str:
        return f"IF({condition}, {factor}, NULL)" if condition != ALL else factor

    ones, both = parts.sketches(counting, only, f"rows where {condition}"), parts.put(added(
        counting(BOTH), only, "double", f"both where {condition}"))
    number = parts.put(weight_of(condition, only))
    rough = found = variance_sql(ones, both)
    if value is not None:
        found = value_variance(parts, value, only, (ones, both, number) if mean else None)
    answer, sampled = parts.lowered(estimate), parts.put(counted_kept(ALL, unfiltered(only)))
    exact = f"IF(({answer}) IS NULL, NULL, 0.0D)"
    told = f"IF({rough} * {FEWEST_KEPT} > CAST({number} AS DOUBLE) * {number} OR {found} < 0.0D, NULL, sqrt({found}))"
    return Lowered(tuple(parts.made), f"IF({sampled} = 0, {exact}, {told})")


def value_variance(parts: Parts, value: str, only: str, rows: tuple[Sequence[str], str, str] | None) -> str:
    """Spark SQL for the variance of a sum; or, given what is known of its rows, of an average, of first order: that of
    Σ(x − mean), by the square of how many there are."""
    sums = parts.sketches(lambda factor: f"{factor} * ({value})", only, value)
    squares = parts.put(added(f"{BOTH} * ({value}) * ({value})", only, "double", f"both·({value})²"))
    if rows is None:
        return variance_sql(sums, squares)
    ones, both, number = rows
    total = parts.put(added(f"({value}) * {WEIGHT}", only, "double", f"Σw·{value}"))
    products = parts.put(added(f"{BOTH} * ({value})", only, "double", f"both·{value}"))
    mean = f"({total} / {number})"
    turns = [f"{one} - {mean} * {other}" for one, other in zip(sums, ones, strict=True)]
    found = variance_sql(turns, f"{squares} - 2 * {mean} * {products} + {mean} * {mean} * {both}")
    return f"({found} / (CAST({number} AS DOUBLE) * {number}))"


def count_error(args: Args, only: str) -> Lowered:
    """The standard error of a count."""
    return joined_error(present(args), only, weigh_count(args, only))


def count_if_error(args: Args, only: str) -> Lowered:
    """The standard error of a count_if."""
    return joined_error(f"coalesce({args[0].sql}, false)", only, weigh_count_if(args, only))


def sum_error(args: Args, only: str) -> Lowered:
    """The standard error of a sum."""
    value = as_double(args[0])
    return joined_error(is_present(value), only, weigh_sum(args, only), value)


def avg_error(args: Args, only: str) -> Lowered:
    """The standard error of an average."""
    value = as_double(args[0])
    return joined_error(is_present(value), only, weigh_avg((Argument(value, "double"),), only), value, mean=True)


JOINED_ERRORS = MappingProxyType({"error count": count_error, "error count_if": count_if_error,
                                  "error sum": sum_error, "error avg": avg_error})
