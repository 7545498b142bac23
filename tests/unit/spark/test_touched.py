"""What has to be read for a span of time, by what Parquet says of its files."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from weft.spark.refresh.touched import file_span, overlaps, values_of


def test_only_groups_within_the_spans_count_and_each_value_of_a_list(tmp_path):
    path = tmp_path / "slices.parquet"
    table = pa.table({"k": ["a"] * 10, "slice": range(10), "l": [[1, 2, 3]] * 10})
    pq.write_table(table, path, row_group_size=5)
    assert values_of(path, {"k", "slice", "l"}, None) == 50
    assert values_of(path, {"slice", "l"}, ((7, 8),)) == 20 and values_of(path, {"k"}, ((70, 80),)) == 0
    assert file_span(path) == (0, 9)
    empty = tmp_path / "empty.parquet"
    pq.write_table(table.slice(0, 0), empty)
    assert file_span(empty) is None and values_of(empty, {"k"}, None) == 0


def test_spans_overlap_where_they_share_a_moment():
    spans = ((0, 10), (20, 30))
    assert overlaps(spans, 9, 9) and overlaps(spans, 5, 25) and overlaps(spans, 29, 40)
    assert not overlaps(spans, 12, 18) and not overlaps(spans, 35, 40)
