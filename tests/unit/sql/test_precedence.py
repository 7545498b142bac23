"""Trees of sqlglot that Spark would read otherwise are told from those that it would not."""

from __future__ import annotations

import pytest
import sqlglot

from weft.sql.precedence import as_spark_groups


def is_alike(text: str) -> bool:
    """Whether Spark reads a text as sqlglot does."""
    return all(as_spark_groups(node) for node in sqlglot.parse_one(text, read="spark").walk())


@pytest.mark.parametrize("text", [
    "a & b & c", "a + b & c", "a & b + c", "a & 1 = 0 AND c", "~a & b", "-a + b", "a * 2 + b > 3 OR NOT c",
    "(a | b) & c", "a | (b & c)"])
def test_trees_that_both_read_alike(text):
    assert is_alike(text)


@pytest.mark.parametrize("text", ["a | b & c", "a ^ b & c", "a | b ^ c"])
def test_bits_that_spark_binds_by_kind(text):
    """For sqlglot these operators are of one level."""
    assert not is_alike(text)
