"""Marks: comparisons as places on scales, and what predicates ask of them."""

from __future__ import annotations

import operator
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.model.marks import Scale
from weft.optimize.marks import BITS, mark, unscaled
from weft.sql.ranges import Comparison, comparisons, is_risky

OPERATORS = {"<": operator.lt, "<=": operator.le, "=": operator.eq, ">=": operator.ge, ">": operator.gt}


@pytest.mark.parametrize(("predicate", "found"), [
    ("price > 100", [("price", ">", "100")]),
    ("100 < price", [("price", ">", "100")]),
    ("price >= -2.5 AND volume % 10 = 3", [("price", ">=", "-2.5"), ("volume % 10", "=", "3")]),
    ("price BETWEEN 1 AND 5", [("price", ">=", "1"), ("price", "<=", "5")]),
    ("1 / price > 2", [("1 / price", ">", "2")]),
])
def test_comparisons_are_read(predicate, found):
    assert comparisons(predicate) == tuple(Comparison(*each) for each in found)


@pytest.mark.parametrize("predicate", [
    "price > 100 OR volume > 3", "price <> 3", "price > volume", "name = 'x'", "price > 1e3", "price > 5L",
    "price > 12345678901", "price IN (1, 2)", "NOT price > 3", "1 > 2",
    "price > 0.12345678",
])
def test_anything_else_is_left_alone(predicate):
    assert comparisons(predicate) is None


@pytest.mark.parametrize(("predicate", "risky"), [
    ("text > 5 AND text < 9", False), ("volume > 1 AND price > 2 AND volume % 7 = 1", False), ("text > 1", False),
    ("volume > 1 AND text > 5", True), ("volume > 1 AND text % 3 = 1", True), ("volume > 1 AND 1 / volume > 2", True),
    ("volume > 3 AND volume % 0 = 1", True), ("price > 1 AND volume % 0 = 1", True), ("price > 1 OR text > 2", False),
])
def test_what_spark_would_not_come_to_is_risky(predicate, risky):
    assert is_risky(predicate, {"volume": "bigint", "price": "decimal(9,2)", "text": "string"}) == risky


def test_a_risky_predicate_stands_on_no_scale():
    predicates = tuple(f"volume > {i} AND text > {i}" for i in range(9))
    assert not unscaled(predicates) and unscaled(predicates, predicates[:3]) == list(predicates[:3])
    assert all(isinstance(field.what, str) for field in mark(predicates, frozenset(predicates)).fields)


numbers = st.decimals(-99, 99, places=1)


def place_of(scale: Scale, value: Decimal | None) -> int:
    """The place that the scale's words give a value."""
    if value is None:
        return 0
    before = sum(Decimal(n) < value for n in scale.numbers)
    if before < len(scale.numbers) and Decimal(scale.numbers[before]) == value:
        return 2 * before + 2
    return 0 if scale.equalities else 2 * before + 1


def passes(predicate: str | None, row: dict[str, Decimal | None]) -> bool:
    """Whether a row passes, by the comparisons themselves."""
    found = [(row[c.expression], c) for c in (comparisons(predicate) or ())] if predicate else []
    return all(value is not None and OPERATORS[c.operator](value, Decimal(c.number)) for value, c in found)


predicates = st.lists(st.lists(st.tuples(st.sampled_from(["x", "y"]), st.sampled_from(list(OPERATORS)), numbers),
                               min_size=1, max_size=3), min_size=1, max_size=20)


values = st.none() | numbers


@given(predicates, st.lists(st.tuples(values, values), min_size=1, max_size=10), st.booleans())
def test_tests_of_marks_are_the_predicates(parts, rows, everything):
    texts = tuple(dict.fromkeys(" AND ".join(f"{x} {op} {n}" for x, op, n in each) for each in parts))
    wanted = (*texts, None) if everything else texts
    marking = mark(wanted)
    for x, y in rows:
        row = {"x": x, "y": y}
        marks = [0] * marking.size
        for what, number, shift, width in marking.fields:
            value = place_of(what, row[what.expression]) if isinstance(what, Scale) else int(passes(what, row))
            assert value < 1 << width and shift + width <= BITS
            marks[number] |= value << shift
        for predicate, tests in zip(wanted, marking.tests, strict=True):
            found = all(low <= (marks[m] >> s & ((1 << w) - 1)) <= high for m, s, w, low, high in tests)
            assert found == passes(predicate, row), (predicate, row)


def test_a_thousand_thresholds_are_one_number_and_many_texts_are_not():
    assert mark(tuple(f"price > {i}" for i in range(1000))).size == 1
    assert len(mark(tuple(f"name LIKE '{i}%'" for i in range(130))).fields) == 130
    assert unscaled(["price > 1", "price > 2", "name = 'x'"]) == ["price > 1", "price > 2", "name = 'x'"]
