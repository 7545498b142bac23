"""The hash of keys: equal keys have equal numbers in every process, and buckets are about equally full."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.final.state.hashing import hash_keys

# Keys lie in the buckets that these numbers name: a checkpoint is lost if one of them changes.
GOLDEN = [
    (pa.array(["", "a", "Zürich", None]), [0, 15565445264529232784, 4696108283650153842, 17504965309670356325]),
    (pa.array([0, -1, 7, None]), [0, 13029008266876403067, 1346066267577507604, 17504965309670356325]),
]
COLUMNS = [
    pa.array(["", "a", "ab", "ba", "Zürich", "日本", None, "a" * 300]),
    pa.array([b"", b"\0", b"\0\0", b"x", None]),
    pa.array([0, 1, -1, 2**62, None], pa.int64()),
    pa.array([0, 1, -128, None], pa.int8()),
    pa.array([True, False, None]),
    pa.array([0.0, 1.5, float("nan"), float("inf"), None]),
    pa.array([date(1970, 1, 1), date(2024, 2, 29), None]),
    pa.array([Decimal("0.00"), Decimal("-0.01"), Decimal("12345678901234567890.12"), None], pa.decimal128(38, 2)),
    pa.array([0, 1, None], pa.timestamp("us", "UTC")),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda c: str(c.type))
def test_different_keys_have_different_numbers_and_equal_ones_equal(column):
    found = hash_keys([column], len(column)).tolist()
    assert len(set(found)) == len(column)
    again = pa.concat_arrays([column.slice(1), column, column.slice(0, 1)])
    assert hash_keys([again.slice(len(column) - 1, len(column))], len(column)).tolist() == found


@pytest.mark.parametrize(("column", "wanted"), GOLDEN)
def test_numbers_are_those_of_every_version(column, wanted):
    assert hash_keys([column], len(column)).tolist() == wanted


@given(st.lists(st.tuples(st.text(max_size=9), st.one_of(st.none(), st.integers(-9, 9))), min_size=1, max_size=30))
def test_a_key_has_its_number_wherever_it_stands(keys):
    whole = [pa.array([text for text, _ in keys]), pa.array([number for _, number in keys], pa.int64())]
    found = hash_keys(whole, len(keys))
    for i, (text, number) in enumerate(keys):
        assert hash_keys([pa.array([text]), pa.array([number], pa.int64())], 1)[0] == found[i]


def test_buckets_are_about_equally_full():
    for column in (pa.array([f"S{i:04d}" for i in range(4000)]), pa.array(range(4000)), pa.array(np.arange(4000) / 8)):
        sizes = np.bincount((hash_keys([column], 4000) % np.uint64(8)).astype(np.int64), minlength=8)
        assert sizes.min() > 400 and sizes.max() < 600
    assert hash_keys([], 3).tolist() == [0, 0, 0]
