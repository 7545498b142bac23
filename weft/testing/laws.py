"""The laws of user-defined aggregates as a test: for the suites of those who write them.

>>> def test_spread_keeps_its_laws():
...     assert_laws(Spread())
"""

from __future__ import annotations

import datetime as dt
import string
from decimal import Decimal

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.aggregates.defined import Definition, define
from weft.aggregates.laws import check_laws
from weft.aggregates.user import Declared

EPOCH = dt.datetime(1970, 1, 1)
REALS = st.one_of(st.integers(-8, 8).map(float), st.floats(-1e4, 1e4, allow_subnormal=False))


def assert_laws(aggregate: Declared, rows: st.SearchStrategy[tuple] | None = None, most: int = 30,
                cases: int | None = None) -> None:
    """Check every law that an aggregate must keep, and those that it declares, on rows that hypothesis draws.

    `rows` draws one row's arguments, without nulls: by default finite values of the declared types; `most`
    of them at a time, `cases` times, or as often as hypothesis is set to. Raises AggregateError with the simplest rows
    that break a law.
    """
    definition = define(aggregate)
    drawn = st.lists(rows_of(definition) if rows is None else rows, min_size=1, max_size=most)

    @settings(max_examples=cases or settings().max_examples)
    @given(drawn, st.integers(0, 2**32 - 1))
    def check(examples: list[tuple], seed: int) -> None:
        columns = [pa.array([row[i] for row in examples], kind) for i, kind in enumerate(definition.arguments)]
        check_laws(definition, columns, seed)

    check()


def rows_of(definition: Definition) -> st.SearchStrategy[tuple]:
    """Rows of the types that an aggregate takes; its own examples where it lists any."""
    listed = definition.aggregate.examples
    return st.sampled_from(listed) if listed else st.tuples(*map(values_of, definition.arguments))


def values_of(kind: pa.DataType) -> st.SearchStrategy:
    """Values of one type, small ones that repeat among them."""
    if pa.types.is_list(kind):
        return st.lists(values_of(kind.value_type), max_size=3)
    if pa.types.is_struct(kind):
        return st.fixed_dictionaries({field.name: values_of(field.type) for field in kind})
    if pa.types.is_floating(kind):
        return REALS if kind.bit_width == 64 else st.floats(-1e4, 1e4, width=32, allow_subnormal=False)
    if pa.types.is_integer(kind):
        limit = 2 ** min(kind.bit_width - 1, 20) - 1
        return st.one_of(st.integers(-8, 8), st.integers(-limit, limit))
    return other_values(kind)


def other_values(kind: pa.DataType) -> st.SearchStrategy:
    """Values of a type that is no number of the machine."""
    if pa.types.is_boolean(kind):
        return st.booleans()
    if pa.types.is_string(kind):
        return st.text(string.ascii_letters + "äß日", max_size=5)
    if pa.types.is_binary(kind):
        return st.binary(max_size=5)
    if pa.types.is_decimal(kind):
        limit = 10 ** min(kind.precision, 6) - 1
        return st.integers(-limit, limit).map(lambda n: decimal_of(n, kind.scale))
    moments = st.datetimes(EPOCH - dt.timedelta(days=9000), EPOCH + dt.timedelta(days=30000))
    if pa.types.is_date(kind):
        return moments.map(dt.datetime.date)
    return moments.map(lambda when: when.replace(tzinfo=dt.UTC)) if kind.tz else moments


def decimal_of(unscaled: int, scale: int) -> Decimal:
    """A decimal of a scale."""
    return Decimal(unscaled).scaleb(-scale)
