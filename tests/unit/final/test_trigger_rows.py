"""Output rows that a bucket of a stream makes itself: those of every closed window, each once, in files it reports."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.final.test_bucket import DictStore, node_of
from tests.unit.final.test_fold import expected, rows, slices, windows
from weft.final.outputs.files import FileFormat
from weft.final.outputs.partition import WorkerProjection
from weft.final.outputs.trigger import MadeRows, TriggerOutputs, make_rows
from weft.final.project import Projection
from weft.final.project.leaves import Call, Key, Value, WindowStart
from weft.final.state.bucket import Bucket, BucketMemory
from weft.model.window import Window
from weft.spark.stream.answer_counts import CountTable
from weft.spark.stream.outputs import to_report
from weft.spark.stream.state import COUNT, COUNT_PART, DEAD_PART, FILE_PART, PART, answer_frames, answer_parts

SCHEMA = pa.schema([("k", pa.string()), ("at", pa.timestamp("us", "UTC")), ("n", pa.int64()), ("s", pa.int64()),
                    ("x", pa.int64())])
PROJECTION = Projection(tuple(Value("bigint", f"c{i}_value") for i in range(3)), None,
                        (Key("string", 0), WindowStart("timestamp"), *(Call("bigint", i) for i in range(3))))


def outputs_of(shapes, folder) -> TriggerOutputs:
    """A query for each window, with files below a folder, or counted only."""
    queries = {(0, i): (f"w{i}",) for i in range(len(shapes))}
    format = folder and FileFormat(f"{folder}/{{}}", "snappy", False, tuple((f"w{i}", ()) for i in range(len(shapes))))
    return TriggerOutputs({0: WorkerProjection(PROJECTION, (0, 1, 2), queries, SCHEMA)}, format or None)


def written(made: list[MadeRows]) -> dict:
    """The rows of all reported files, by window, key and start."""
    found: dict[tuple, tuple] = {}
    for each in made:
        for query, path in each.files:
            for key, at, *values in zip(*pq.read_table(path).to_pydict().values(), strict=True):
                place = (int(query[1:]), key, int(np.datetime64(at.replace(tzinfo=None), "us").astype(np.int64)))
                assert place not in found
                found[place] = tuple(values)
    return found


def stream(shapes, data, marks, outputs) -> list[MadeRows]:
    """What a bucket makes as the watermark takes these values."""
    node, store, kept = node_of(shapes), DictStore(), None
    table = pa.Table.from_batches([slices(data, shapes)])
    arrival, made = np.searchsorted(marks, node.form.ends(table)), []
    for i, mark in enumerate(marks):
        new = table.filter(pa.array(arrival == i)) if (arrival == i).any() else None
        if new is None and (kept is None or kept.timer > mark):
            continue
        bucket = Bucket(node, store, kept, new, mark)
        made += [found for _, found in answer_parts(bucket, outputs)]
        kept = bucket.keep()
    return made


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(data=rows(), shapes=windows(),
       marks=st.lists(st.one_of(st.integers(-60, 130), st.integers(9_990, 10_130)), min_size=1, max_size=8))
def test_files_hold_the_rows_of_every_closed_window_once(tmp_path_factory, data, shapes, marks):
    marks = sorted(set(marks))
    made = stream(shapes, data, marks, outputs_of(shapes, tmp_path_factory.mktemp("made")))
    closed = {place: answer for place, answer in expected(data, shapes).items()
              if place[2] + shapes[place[0]].range <= marks[-1]}
    assert written(made) == closed
    assert sum(size for each in made for size in each.counts.values()) == len(closed)


def test_without_a_format_rows_are_counted_and_nothing_is_written():
    (made,) = stream((Window(10, 5),), [("a", 1, 3), ("b", 6, 4)], [100], outputs_of((Window(10, 5),), None))
    assert made == MadeRows({(0, 0): 4}, [])


def overflowing(tmp_path) -> tuple[Bucket, TriggerOutputs]:
    """A bucket with a sum that does not fit."""
    shapes, top = (Window(10, 5),), 2**63 - 1
    table = pa.Table.from_batches([slices([("a", 0, top), ("a", 5, top), ("b", 1, 1)], shapes)])
    return Bucket(node_of(shapes), DictStore(), None, table, 100), outputs_of(shapes, tmp_path)


def test_what_only_spark_can_project_is_sent_as_arrays_and_no_file_of_it_is_named(tmp_path):
    bucket, outputs = overflowing(tmp_path)
    (part,) = bucket.node.parts
    assert make_rows(part.final, outputs.projections[0], outputs.format, bucket.columns(part),
                     bucket.folding(part)) is None
    found = [batch for _, batch in answer_parts(bucket, outputs)]
    assert found and all(isinstance(batch, pa.RecordBatch) for batch in found)
    assert found == [batch for _, batch in bucket.answers()]


def test_frames_name_the_files_and_count_the_answers(tmp_path):
    made = MadeRows({(0, 0): 4}, [("w0", f"{tmp_path}/a.parquet")])
    table = CountTable((("w0",),), {("part", 0, 0): 0})
    (frame,) = answer_frames([("part", made)], {"part": 1}, set(), table)
    assert frame[PART].tolist() == [FILE_PART, COUNT_PART]
    assert frame[COUNT].tolist()[1:] == [4]
    assert frame["answers"].tolist() == [f'["w0", "{tmp_path}/a.parquet"]'.encode(), f"{table.id} 4".encode()]


def test_a_report_tells_files_letters_and_what_is_left_to_spark():
    report = to_report([(FILE_PART, '["q", "/a/b"]'), (DEAD_PART, "{}"), ("5a5a", None), ("5a5a", None)])
    assert (report.files, report.letters, report.parts) == ((("q", "/a/b"),), ("{}",), frozenset({"5a5a"}))


@pytest.mark.parametrize("kept", [None, BucketMemory(100, 0, 200)])
def test_a_bucket_without_slices_makes_nothing(kept):
    bucket = Bucket(node_of((Window(10, 5),)), DictStore(), kept, None, 150)
    assert list(answer_parts(bucket, outputs_of((Window(10, 5),), None))) == []
