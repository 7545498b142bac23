"""Which column a key is."""

from __future__ import annotations

import pytest

from weft.spark.bind.char_columns import column_of


@pytest.mark.parametrize(("key", "column"), [
    ("k", "k"), ("K", "k"), ("`k`", "k"), ("s.f", "s"), ("`a.b`", "a.b"), ("`a``b`.c", "a`b"), ("m['x']", "m")])
def test_a_key_names_its_column(key, column):
    assert column_of(key) == column
