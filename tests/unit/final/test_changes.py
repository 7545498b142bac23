"""Rows that came and went between two states: with what went taken out and what came put in, one becomes the other."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.final.outputs.changes import CHANGE, DELETE, INSERT, read_rows, row_changes

SCHEMA = pa.schema([("k", pa.string()), ("x", pa.float64()), ("at", pa.timestamp("us", "UTC")),
                    ("w", pa.struct([("start", pa.timestamp("us", "UTC")), ("n", pa.int64())]))])
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([0.0, 1.5, float("inf"), None]),
                          st.integers(0, 2), st.integers(0, 1)), max_size=12)


def table(rows) -> pa.Table:
    """Rows as a query has them."""
    found = [{"k": k, "x": x, "at": at, "w": {"start": at, "n": n}} for k, x, at, n in rows]
    return pa.Table.from_pylist(found, SCHEMA)


def count(rows: pa.Table) -> Counter:
    """How often each row is there."""
    return Counter(map(repr, rows.to_pylist()))


@given(ROWS, ROWS)
def test_changes_lead_from_one_state_to_the_other(old, new):
    before, after = table(old), table(new)
    changes = row_changes(before, after)
    kinds = changes[CHANGE].to_pylist()
    plain = changes.drop_columns([CHANGE])
    gone = plain.filter(pa.array([kind == DELETE for kind in kinds], pa.bool_()))
    come = plain.filter(pa.array([kind == INSERT for kind in kinds], pa.bool_()))
    assert len(kinds) == gone.num_rows + come.num_rows
    assert count(before) + count(come) == count(after) + count(gone)
    assert not count(gone) & count(come)  # nothing goes and comes


@pytest.mark.parametrize("old_times", [True, False])
def test_rows_are_read_in_the_types_of_the_query(tmp_path, old_times):
    rows = table([("a", 1.0, 7, 1), (None, None, 2**50, 0)]).drop_columns(["w"])
    path = tmp_path / "x.parquet"
    pq.write_table(rows, path, use_deprecated_int96_timestamps=old_times)
    assert read_rows([str(path), str(path)], rows.schema) == pa.concat_tables([rows, rows])
    assert read_rows([], rows.schema).num_rows == 0
