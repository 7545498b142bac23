"""The page of a stream whose queries changed: which starts go on, and under which plan a trigger ran."""

from __future__ import annotations

import pytest

from tests.unit.stages.test_explain import SECOND, bound
from weft.errors import RunError
from weft.final.state.changes import Boundary
from weft.spark.stream.backfill import remove_histories
from weft.spark.stream.checkpoint import BACKFILL, Checkpoint, query_meaning
from weft.spark.stream.live import is_settled, read_boundary
from weft.spark.stream.scan_plans import UNKNOWN
from weft.spark.stream.start import remove_scans
from weft.spark.stream.surroundings import StreamEnvironment

A, B, C = (bound(name, length * SECOND, 5 * SECOND) for name, length in (("a", 10), ("b", 20), ("c", 40)))
OTHER = bound("a", 60 * SECOND, 5 * SECOND)


def identity(source: str, text: str) -> str:
    return text


def meanings(*queries) -> dict[str, str]:
    return {each.query.name: query_meaning(each.query, identity) for each in queries}


def changed_page(**more) -> Checkpoint:
    """Started with a and b; then b went and c came."""
    return Checkpoint("id", 2, "tri_weave", meanings(A, C), {}, [], {}, StreamEnvironment({}, None, {}, "UTC"),
                      plan_version=3, started=meanings(A, B), **more)


@pytest.mark.parametrize("asked", [(A, B), (A, C), (A,), (A, B, C)])
def test_a_start_with_the_first_queries_or_those_of_now_goes_on(asked):
    changed_page().require_same("here", asked, {}, identity)


@pytest.mark.parametrize(("asked", "text"), [
    ((A, B, bound("d", 10 * SECOND, 5 * SECOND)), "adds 'd'"),
    ((B, C), "leaves out 'a'"),
    ((OTHER, B), "changes 'a'"),
])
def test_a_start_with_others_is_refused(asked, text):
    with pytest.raises(RunError, match=f"this start {text}.*stream.add"):
        changed_page().require_same("here", asked, {}, identity)


def test_each_trigger_knows_its_version():
    page = changed_page(changes=[{"version": 2, "triggers": {"x": 5}}, {"version": 3, "triggers": {"x": 9, "y": 0}}])
    assert [page.version_of("x", trigger) for trigger in (0, 4, 5, 8, 9)] == [1, 1, 2, 2, 3]
    assert page.version_of("y", 0) == 3


def test_a_boundary_is_read_from_sparks_logs(tmp_path):
    offsets, commits = (tmp_path / "scan-x" / log for log in ("offsets", "commits"))
    for folder in (offsets, commits):
        folder.mkdir(parents=True)
    assert is_settled(str(tmp_path), "x", UNKNOWN) and read_boundary(str(tmp_path), "x", 4000) is None
    for number in (8, 9):
        (offsets / str(number)).write_text(f'v1\n{{"batchWatermarkMs":{number}000,"batchTimestampMs":5}}\n{{}}')
        (offsets / f".{number}.crc").write_text("")
        (commits / str(number)).write_text(f'v1\n{{"nextBatchWatermarkMs":{number + 1}000}}')
    assert is_settled(str(tmp_path), "x", 9) and is_settled(str(tmp_path), "x", UNKNOWN)
    assert read_boundary(str(tmp_path), "x", 4000) == Boundary(10, 9_000_000, 14_001_000)
    (offsets / "10").write_text("v1\n{}\n")
    assert is_settled(str(tmp_path), "x", 9)  # nothing of trigger 10 is delivered
    assert not is_settled(str(tmp_path), "x", 10) and not is_settled(str(tmp_path), "x", UNKNOWN)
    (commits / "11").write_text("torn")
    with pytest.raises(RunError, match=r"trigger 11 of scan-x.*cannot be read"):
        read_boundary(str(tmp_path), "x", 4000)


def test_only_the_state_of_scans_that_are_gone_is_removed(tmp_path):
    for name in ("scan-x", "scan-y", "dead_letters"):
        (tmp_path / name).mkdir()
    page = changed_page()
    remove_scans(str(tmp_path), Checkpoint(**{**vars(page), "state": {"x": {}}, "plan_version": 1}))
    assert (tmp_path / "scan-y").exists()
    remove_scans(str(tmp_path), Checkpoint(**{**vars(page), "state": {"x": {}}}))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dead_letters", "scan-x"]


def test_only_histories_that_no_scan_reads_are_removed(tmp_path):
    read, left = (f"history-{digit * 32}" for digit in "ab")
    for name in (read, left, "history-of-a-user", "dead_letters"):
        (tmp_path / name).mkdir()
    state = {"x": {BACKFILL: {"folder": read, "cut": 7}}, "y": {}}
    remove_histories(str(tmp_path), Checkpoint(**{**vars(changed_page()), "state": state}))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dead_letters", read, "history-of-a-user"]
