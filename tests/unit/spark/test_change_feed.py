"""The change feed of one query without Spark: what is told where the rows in its folder are not those of last time."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from weft.final.outputs.changes import CHANGE
from weft.model.query import Output
from weft.model.stages import AnswerStage
from weft.spark.refresh.changes import ChangeFeed, is_as_told, result_paths
from weft.spark.refresh.kept_answers import folder_facts

ONE, TWO = "part-1.parquet", "part-2.parquet"


def stage(**columns) -> AnswerStage:
    """A query with columns of some types."""
    return AnswerStage((), (), (), None, tuple(Output(name, name, f'"{kind}"') for name, kind in columns.items()))


PLAIN, WIDER = stage(k="string", n="long"), stage(n="long", k="string", m="long")


@pytest.fixture
def place(tmp_path):
    """A folder with the rows of two files."""
    (tmp_path / "q").mkdir()
    for name, key in ((ONE, "a"), (TWO, "b")):
        pq.write_table(pa.table({"k": [key], "n": [1]}), tmp_path / "q" / name)
    return tmp_path / "q"


@pytest.fixture
def feed(tmp_path):
    return ChangeFeed(SimpleNamespace(version="4.1.0"), str(tmp_path / "changes"))


def told(feed, place, stage=PLAIN):
    """The mark of the folder after all of its rows were told."""
    first = feed.add("q", "0" * 32, {}, stage, [], [str(place / ONE), str(place / TWO)])
    feed.publish("0" * 32)
    return {"files": [ONE, TWO], "changes": {**first, "files": folder_facts(str(place), [ONE, TWO])}}


def rows_told(feed, name):
    """The rows of a file of changes."""
    return [tuple(row.values()) for row in pq.read_table(f"{feed.folder}/q/{name}").to_pylist()]


def add(feed, place, mark, stage, new, whole):
    """Tell what new rows change; the names of the files that are there then."""
    pq.write_table(new, place.parent / "new.parquet")
    feed.add("q", "1" * 32, mark, stage, result_paths(str(place), mark), [str(place.parent / "new.parquet")], whole)
    feed.publish("1" * 32)
    return sorted(os.listdir(f"{feed.folder}/q"))


def test_rows_as_they_were_told_are_compared(feed, place):
    mark = told(feed, place)
    assert is_as_told(str(place), mark, PLAIN)
    new = pa.table({"k": ["a", "c"], "n": [1, 1]})
    assert add(feed, place, mark, PLAIN, new, False)[1] == "changes-000000000002.parquet"
    assert rows_told(feed, "changes-000000000002.parquet") == [("b", 1, "delete"), ("c", 1, "insert")]


@pytest.mark.parametrize("spoil", [
    lambda place: (place / TWO).unlink(),
    lambda place: pq.write_table(pa.table({"k": ["x", "y", "z"], "n": [7, 8, 9]}), place / TWO),
    lambda place: os.utime(place / ONE, (1, 1)),
])
def test_files_that_are_gone_or_changed_are_not_read(feed, place, spoil):
    """Nobody was told of their rows, so all rows are told anew and none goes."""
    mark = told(feed, place)
    spoil(place)
    assert not is_as_told(str(place), mark, PLAIN)
    new = pa.table({"k": ["a"], "n": [1]})
    assert add(feed, place, mark, PLAIN, new, True)[1] == "changes-000000000002-all.parquet"
    assert rows_told(feed, "changes-000000000002-all.parquet") == [("a", 1, "insert")]


def test_a_query_with_other_columns_begins_anew(feed, place):
    """Columns are read by their places, so old ones would be told under other names."""
    mark = told(feed, place)
    assert not is_as_told(str(place), mark, WIDER) and not is_as_told(str(place), mark, stage(n="string", k="long"))
    new = pa.table({"n": [1], "k": ["a"], "m": [2]})
    assert add(feed, place, mark, WIDER, new, True)[1] == "changes-000000000002-all.parquet"
    found = pq.read_table(f"{feed.folder}/q/changes-000000000002-all.parquet")
    assert found.to_pylist() == [{"n": 1, "k": "a", "m": 2, CHANGE: "insert"}]


def test_rows_that_workers_wrote_are_known_by_what_the_mark_keeps(feed, place):
    mark = told(feed, place)
    facts = mark["changes"].pop("files")
    assert not is_as_told(str(place), mark, PLAIN)
    kept = {"files": {name: list(each) for name, each in facts.items()}}
    assert is_as_told(str(place), {**mark, "kept": kept}, PLAIN)
