"""Rows brought up to date without Spark: touched buckets out of files of slices, the others as they were."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.final.test_fold import COMPONENTS, expected, rows, slices, windows
from tests.unit.final.test_trigger_rows import PROJECTION, SCHEMA, written
from weft.final.outputs.buckets import (
    TimeBuckets,
    first_buckets,
    join_reaches,
    next_buckets,
    overlaps,
    touched_windows,
)
from weft.final.outputs.files import FileFormat, bucket_of_file
from weft.final.outputs.partition import WorkerProjection
from weft.final.outputs.slice_files import SliceFiles, SliceFilesJob
from weft.final.outputs.trigger import MadeRows
from weft.model.spans import spans_over
from weft.model.window import Window
from weft.stages.build import final_stage


def refresh(shapes, files, buckets, folder):
    """Make buckets of a query for each window; the files of each."""
    queries = {(0, i): (f"w{i}",) for i in range(len(shapes)) if f"w{i}" in buckets}
    projection = WorkerProjection(PROJECTION, (0, 1, 2), queries, SCHEMA)
    format = FileFormat(f"{folder}/{{}}", "snappy", False, tuple((name, ()) for name in buckets))
    source = SliceFiles(tuple(map(str, files)), tuple("ksnax"), "s", join_reaches(buckets.values()))
    told = SliceFilesJob(source, final_stage(1, shapes, COMPONENTS, True, ()), (projection,), buckets, format).run()
    found = {name: [] for name in buckets}
    for line in told.to_pylist():
        if line["file"]:
            found[line["query"]].append(line["file"])
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(data=rows(), more=st.lists(rows(), min_size=1, max_size=3), shapes=windows(), slides=st.integers(0, 9))
def test_touched_buckets_and_those_that_stay_are_the_rows_of_everything(tmp_path_factory, data, more, shapes, slides):
    folder = tmp_path_factory.mktemp("rows")
    files, there, have, units = [], {f"w{i}": [] for i in range(len(shapes))}, [], {}
    for turn, new in enumerate([data, *more]):
        have += new
        table = pa.Table.from_batches([slices(new, shapes)])
        files.append(folder / f"{turn}.parquet")
        pq.write_table(table, files[-1], row_group_size=7)
        spans = spans_over(table["s"].to_pylist(), 4)
        buckets = {}
        for i, window in enumerate(shapes):
            name, starts = f"w{i}", table["s"].to_pylist()
            if turn == 0:
                made = first_buckets(window, (min(starts), max(starts)) if starts else None)
                if slides and starts:  # longer units, as older versions had them
                    touched = touched_windows(window, slides * window.slide, spans)
                    made = TimeBuckets(window, slides * window.slide, touched, whole=True)
                units[name], buckets[name] = made.unit, made
            elif touched := touched_windows(window, units[name], spans):
                before = TimeBuckets(window, units[name])
                kept = {bucket_of_file(file.rsplit("/", 1)[1]) for file in there[name]}
                buckets[name] = replace(before, made=next_buckets(before, list(kept), touched))
        made = refresh(shapes, files, buckets, folder / f"out{turn}") if buckets else {}
        for name, new_files in made.items():
            gone = buckets[name].made
            stay = [file for file in there[name] if not overlaps(bucket_of_file(file.rsplit("/", 1)[1]), gone)]
            there[name] = stay + new_files
        found = written([MadeRows({}, [(name, file) for name, kept in there.items() for file in kept])])
        assert found == expected(have, shapes)


def test_where_no_slice_is_read_nothing_is_written(tmp_path):
    pq.write_table(pa.Table.from_batches([slices([("a", 1, 2)], (Window(10, 5),))]), tmp_path / "0.parquet")
    buckets = {"w0": TimeBuckets(Window(10, 5), 20, ((50, 51),))}
    assert refresh((Window(10, 5),), [tmp_path / "0.parquet"], buckets, tmp_path / "out") == {"w0": []}
    assert not (tmp_path / "out").exists()
