"""Which queries are of one shape, so that what Spark says of one holds for the others."""

from __future__ import annotations

import pytest

WINDOW = "window(ts, '10 minutes', '2 minutes')"


@pytest.fixture
def shape(parse):
    """The shape of a query with these outputs and this HAVING."""
    def made(outputs, having="true"):
        return parse(f"SELECT {outputs} FROM trades GROUP BY symbol, {WINDOW} HAVING {having}").shape

    return made


LOOSE = [
    ("max(price) - 1 AS a", "max(price) - 999 AS b"),
    ("max(volume) + 3000000000 AS a", "max(volume) + 9000000000 AS a"),
    ("CASE WHEN max(price) > 1 THEN 5 ELSE 6 END AS a", "CASE WHEN max(price) > 2 THEN 7 ELSE 8 END AS a"),
    ("symbol, max(volume) IN (1, 2) AS a", "symbol, max(volume) IN (3, 4) AS a"),
]
APART = [
    ("max(volume) + 1000000000 AS a", "max(volume) + 9999999999 AS a"),
    ("max(volume) + -2147483648 AS a", "max(volume) + -2147483649 AS a"),
    ("max(volume) + 9223372036854775807 AS a", "max(volume) + 9223372036854775808 AS a"),
    ("max(volume) * 0.5 AS a", "max(volume) * 1.5 AS a"),
    ("max(volume) * 1.5 * 7 AS a", "max(volume) * 1.5 * 77 AS a"),
    ("max(volume) + 1e3 AS a", "max(volume) + 2e3 AS a"),
    ("max(volume) + 5L AS a", "max(volume) + 5 AS a"),
    ("round(max(price), 1 + 1) AS a", "round(max(price), 1 + 2) AS a"),
    ("CAST(max(price) AS DECIMAL(9, 2)) + 1 AS a", "CAST(max(price) AS DECIMAL(9, 2)) + 10 AS a"),
    ("max(volume) + 1", "max(volume) + 2"),
    ("max(volume) AS a, a + 1", "max(volume) AS b, b + 1"),
    ("sum(PRICE), max(volume) AS PRICE", "sum(price), max(volume) AS price"),
    ("symbol", "Symbol"),
]


@pytest.mark.parametrize(("one", "other"), LOOSE)
def test_whole_numbers_of_one_type_and_aliases_decide_nothing(shape, one, other):
    assert shape(one).loose == shape(other).loose
    assert shape(one, "max(price) > 1.25").loose == shape(other, "max(price) > 3.75").loose


@pytest.mark.parametrize(("one", "other"), LOOSE)
def test_beside_decimals_every_literal_counts(shape, one, other):
    assert shape(one).exact != shape(other).exact


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_may_decide_a_name_or_a_type_keeps_shapes_apart(shape, one, other):
    assert shape(one).loose != shape(other).loose


@pytest.mark.parametrize(("one", "other"), [("1.5", "10.5"), ("1", "3000000000"), ("1", "1.0"), ("1e3", "1e400")])
def test_numbers_of_another_type_in_having_keep_shapes_apart(shape, one, other):
    assert shape("symbol", f"max(price) > {one}").loose != shape("symbol", f"max(price) > {other}").loose
