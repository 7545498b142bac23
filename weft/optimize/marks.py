"""Marking: which fields the marks of a scan's slices have, and what each of its predicates asks of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from math import prod

from weft.model.marks import Field, Marking, Scale, Test
from weft.sql.ranges import Comparison, comparisons

BITS = 62  # of a bigint, without its sign
FEWEST = 4  # numbers on a scale: fewer comparisons are as cheap one by one


def scales_of(predicates: Iterable[str | None]) -> dict[tuple[str, bool], Scale]:
    """The scales that comparisons of predicates make, where they have numbers enough."""
    families: dict[tuple[str, bool], list[Comparison]] = {}
    for predicate in predicates:
        for found in (comparisons(predicate) or ()) if predicate else ():
            families.setdefault(found.family, []).append(found)
    made = {}
    for family, members in families.items():
        numbers = {Decimal(c.number): c.number for c in members}
        if len(numbers) >= FEWEST and len(numbers) == len({c.number for c in members}):
            ascending = tuple(numbers[value] for value in sorted(numbers))
            made[family] = Scale(family[0], ascending, all(c.operator == "=" for c in members))
    return made


def unscaled(predicates: Sequence[str | None], risky: Collection[str | None] = ()) -> list[str]:
    """The predicates that no scale serves: each is evaluated by itself. On a scale every row is looked at, so that none
    of the risky ones may stand there."""
    scales = scales_of(p for p in predicates if p not in risky)
    return [p for p in predicates if p is not None and (p in risky or not is_scaled(p, scales))]


def is_scaled(predicate: str, scales: dict[tuple[str, bool], Scale]) -> bool:
    """Whether a predicate is a conjunction of comparisons on scales."""
    found = comparisons(predicate)
    return bool(found) and all(c.family in scales for c in found or ())


@lru_cache(maxsize=64)
def mark(predicates: tuple[str | None, ...], risky: frozenset[str | None] = frozenset()) -> Marking:
    """The marks of some predicates; None, which every row passes, asks nothing of them."""
    scales = scales_of(p for p in predicates if p not in risky)
    alone = unscaled(predicates, risky)
    used = {c.family for p in predicates if p and p not in set(alone) for c in comparisons(p) or ()}
    fields = packed([*(scale for family, scale in scales.items() if family in used), *alone])
    home = {field.what: field for field in fields}

    def tests(predicate: str | None) -> tuple[Test, ...]:
        if predicate is None:
            return ()
        if predicate in home:
            return (Test(*home[predicate][1:], 1, 1),)
        pairs = [(scales[c.family], c) for c in comparisons(predicate) or ()]
        return tuple(Test(*home[scale][1:], *scale.interval(c.operator, c.number)) for scale, c in pairs)

    return Marking(fields, tuple(map(tests, predicates)))


def packed(items: Sequence[Scale | str]) -> tuple[Field, ...]:
    """A field for each item, in as few marks as come without cutting one in two."""
    fields, number, shift = [], 0, 0
    for item in items:
        width = item.top.bit_length() if isinstance(item, Scale) else 1
        if shift + width > BITS:
            number, shift = number + 1, 0
        fields.append(Field(item, number, shift, width))
        shift += width
    return tuple(fields)


def count_kinds(marking: Marking) -> float:
    """How many kinds of rows marks can tell apart, if no value of a scale is just a number that it is compared with."""
    return float(prod(len(field.what.numbers) + 1 if isinstance(field.what, Scale) else 2 for field in marking.fields))
