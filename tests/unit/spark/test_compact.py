"""Compaction of sinks that hold lines, which needs no Spark: what is merged, kills after each step, readers beside."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from pyarrow import fs
from typer.testing import CliRunner

from weft.cli.main import app
from weft.errors import RunError
from weft.io import folders
from weft.io.folders import hold_folder
from weft.io.sinks import FolderSink
from weft.spark.compact import run
from weft.spark.compact.choice import OWN, choose_merges, result_file
from weft.spark.compact.request import make_request, parse_age, parse_size
from weft.spark.compact.run import compact, compaction_steps
from weft.spark.stream.sinks import FileSink
from weft.spark.write.guard import OWNER
from weft.spark.write.owned import MARK, mark_stream

STREAM = "5a" * 16


@pytest.fixture(autouse=True)
def no_grace(monkeypatch):
    monkeypatch.setattr(run, "GRACE", 0.0)


@pytest.fixture
def sink(tmp_path) -> Path:
    """A sink with two queries of ten triggers."""
    root = tmp_path / "out"
    for query in ("a", "b"):
        (root / query).mkdir(parents=True)
        mark_stream(fs.LocalFileSystem(), str(root / query), query, STREAM)
    (root / OWNER).write_text(json.dumps({"stream": STREAM}))
    for number in range(10):
        publish(root, "a", number)
        publish(root, "b", number)
    return root


def publish(root: Path, query: str, number: int, files: int = 2) -> None:
    """The files of a trigger, of two rows each, moved into place as a stream does it."""
    with hold_folder(str(root)):
        for part in range(files):
            staged = root / f"_weft_staging_{query}"
            staged.write_text("".join(f'{{"row":"{query}-{number}-{part}-{i}"}}\n' for i in range(2)))
            staged.rename(root / query / f"trigger-{number:09d}-{part:05d}.c00{part}.json")


def expected(query: str, numbers: range, files: int = 2) -> Counter[str]:
    return Counter(f"{query}-{number}-{part}-{i}" for number in numbers for part in range(files) for i in range(2))


def rows(root: Path, query: str) -> Counter[str]:
    """The rows of a query as any reader finds them: of all files that are not hidden."""
    while True:
        try:
            texts = [Path(entry.path).read_text() for entry in list(os.scandir(root / query))
                     if not entry.name.startswith(("_", ".")) and entry.name.endswith(".json")]
        except FileNotFoundError:
            continue  # Spark, too, says that a file which it has listed is gone, and must be asked again
        return Counter(json.loads(line)["row"] for text in texts for line in text.splitlines())


def names(root: Path, query: str) -> list[str]:
    return sorted(path.name for path in (root / query).iterdir() if OWN.fullmatch(path.name))


def test_many_files_become_one_and_the_newest_trigger_stays(sink):
    found = compact(sink)
    assert [(one.query, one.files_before, one.files_after, one.merged_files) for one in found] == [
        ("a", 20, 3, 18), ("b", 20, 3, 18)]
    newest = ["trigger-000000009-00000.c000.json", "trigger-000000009-00001.c001.json"]
    for query in ("a", "b"):
        assert names(sink, query) == ["compacted-000000000-000000008-00000.json", *newest]
        assert rows(sink, query) == expected(query, range(10))
    assert not (sink / "_weft_compact").exists()
    assert json.loads((sink / "a" / MARK).read_text()) == {"query": "a", "stream": STREAM}


def test_what_comes_later_is_merged_with_what_was_merged(sink):
    compact(sink)
    publish(sink, "a", 12)
    publish(sink, "a", 13)
    assert [one.files_after for one in compact(sink, ["a"])] == [3]
    assert names(sink, "a")[0] == "compacted-000000000-000000012-00000.json"
    assert rows(sink, "a") == expected("a", range(10)) + expected("a", range(12, 14))
    assert [one.merged_files for one in compact(sink)] == [0, 0]


def test_a_target_bounds_what_is_merged_and_large_files_stay(sink):
    one = (sink / "a" / "trigger-000000000-00000.c000.json").stat().st_size
    (sink / "a" / "trigger-000000004-00000.c000.json").write_text('{"row":"large"}\n' * one)
    compact(sink, target_size=6 * one)
    assert names(sink, "a")[:5] == [
        "compacted-000000000-000000002-00000.json", "compacted-000000003-000000003-00000.json",
        "compacted-000000005-000000007-00000.json", "compacted-000000008-000000008-00000.json",
        "trigger-000000004-00000.c000.json"]
    assert max(path.stat().st_size for path in (sink / "a").glob("compacted-*")) <= 6 * one


def test_a_dry_run_changes_nothing_and_tells_the_same(sink):
    before = {path: path.stat() for path in sink.rglob("*")}
    planned = compact(sink, dry_run=True)
    assert {path: path.stat() for path in sink.rglob("*")} == before
    assert planned == compact(sink)


def test_only_files_that_are_older_are_merged(sink):
    for path in (sink / "a").glob("trigger-00000000[0-4]-*"):
        os.utime(path, (time.time() - 7200,) * 2)
    assert compact(sink, older="1h")[0].merged_files == 10
    assert names(sink, "a")[0] == "compacted-000000000-000000004-00000.json"
    assert rows(sink, "a") == expected("a", range(10))


def kill_after(sink: Path, count: int) -> str:
    """Stop a compaction after so many steps as the end of its process does: locks are let go, nothing is cleaned."""
    steps = compaction_steps(make_request(str(sink), None, None, 200, None), [])
    done = [next(steps) for _ in range(count)]
    steps.close()
    return done[-1] if done else "nothing"


STEPS = ("recovered", *(f"{query}: {step}" for query in "ab"
                        for step in ("merged", "merged", "merged", "merged", "merged", "gathered", "exchanged")))


@pytest.mark.parametrize("count", range(1, len(STEPS) + 1), ids=lambda count: f"{count}-{STEPS[count - 1]}")
def test_killed_after_any_step_every_row_is_there_once_and_the_next_one_recovers(sink, count):
    (sink / "a" / "notes.txt").write_text("mine")
    assert kill_after(sink, count) == STEPS[count - 1]
    for number in (10, 11):  # the stream goes on meanwhile, and repeats its newest trigger
        for query in "ab":
            for old in (sink / query).glob("trigger-000000009-*") if number == 10 else ():
                old.unlink()
            publish(sink, query, 9 if number == 10 else number, files=1)
    want = {query: expected(query, range(9)) + expected(query, range(9, 10), 1) + expected(query, range(11, 12), 1)
            for query in "ab"}
    assert {query: rows(sink, query) for query in "ab"} == want
    compact(sink, target_size=10_000)
    assert {query: rows(sink, query) for query in "ab"} == want
    assert [len(names(sink, query)) for query in "ab"] == [2, 2]
    assert (sink / "a" / "notes.txt").read_text() == "mine"
    assert not (sink / "_weft_compact").exists()


def test_an_error_in_the_middle_leaves_all_as_it_was_and_says_so(sink, monkeypatch):
    def fail(*_: object) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr("weft.spark.compact.swap.exchange_folders", fail)
    with pytest.raises(RunError, match=r"out/a' cannot be exchanged at once \(Invalid argument\).* copy the files"):
        compact(sink)
    assert len(names(sink, "a")) == 20 and not (sink / "_weft_compact").exists()
    assert rows(sink, "a") == expected("a", range(10))


def test_what_others_put_there_stays(sink):
    (sink / "a" / "notes.txt").write_text("mine")
    (sink / "a" / "trigger-mine.json").write_text("mine")
    (sink / "a" / "link.json").symlink_to("elsewhere")
    (sink / "others").mkdir()
    (sink / "others" / "trigger-000000000-00000.c000.json").write_text("mine")
    (sink / "others" / "trigger-000000001-00000.c000.json").write_text("mine")
    assert [one.query for one in compact(sink)] == ["a", "b"]
    assert (sink / "a" / "notes.txt").read_text() == (sink / "a" / "trigger-mine.json").read_text() == "mine"
    assert os.readlink(sink / "a" / "link.json") == "elsewhere"
    assert len(list((sink / "others").iterdir())) == 2
    assert len(names(sink, "a")) == 3


def test_what_others_put_there_in_the_last_moment_stays(sink):
    steps = compaction_steps(make_request(str(sink), ["a"], None, "1GB", None), [])
    for step in steps:
        if step == "a: gathered":
            (sink / "a" / "late.txt").write_text("mine")
    assert (sink / "a" / "late.txt").read_text() == "mine"
    assert not (sink / "_weft_compact").exists()


@pytest.mark.parametrize("spoil, said", [
    (lambda sink: (sink / OWNER).unlink(), "is not the sink of a stream that Weft started"),
    (lambda sink: (sink / "a" / "inner").mkdir(), r"query 'a': '.*out/a/inner' is a folder that Weft did not make"),
    (lambda sink: (sink / "a" / "compacted-000000001-000000003-00000.json").touch(),
     r"query 'a': .* holds rows of triggers that another file beside it holds too"),
    (lambda sink: (sink / "a" / MARK).unlink(), r"query 'a' has no folder in .*; there are: b"),
    (lambda sink: (sink / "a" / MARK).write_text('{"query": "a", "stream": "other"}'), "query 'a' has no folder"),
    (lambda sink: (sink / "a").rename(sink / "x") and (sink / "a").symlink_to("x"), "query 'a': .* is a link"),
])
def test_what_cannot_be_compacted_is_refused_and_left(sink, spoil, said):
    spoil(sink)
    before = sorted(map(str, sink.rglob("*")))
    with pytest.raises(RunError, match=said):
        compact(sink, ["a"])
    assert sorted(map(str, sink.rglob("*"))) == before


def test_two_compactions_at_once_are_refused_and_so_are_places_elsewhere(sink):
    steps = compaction_steps(make_request(str(sink), None, None, 200, None), [])
    next(steps)
    with pytest.raises(RunError, match="another compaction runs there"):
        compact(sink)
    steps.close()
    compact(sink)
    with pytest.raises(RunError, match="'s3a://b/out' is not on this machine"):
        compact("s3a://b/out")


def test_a_file_that_changes_while_it_is_read_stops_it(sink):
    steps = compaction_steps(make_request(str(sink), ["a"], None, "1GB", None), [])
    with pytest.raises(RunError, match=r"'trigger-000000003-00001.c001.json' has changed while it was read"):
        for step in steps:
            if step == "a: merged":
                (sink / "a" / "trigger-000000003-00001.c001.json").write_text("{}\n")
    assert len(names(sink, "a")) == 20


def test_csv_keeps_one_line_of_names_and_lines_without_end_get_it(sink):
    for path in (sink / "a").glob("trigger-*"):
        path.unlink()
    for number in range(4):
        (sink / "a" / f"trigger-{number:09d}-00000.csv").write_text(f'"k,1",x\na,{number}\nb,{number}')
    compact(sink, ["a"])
    assert (sink / "a" / "compacted-000000000-000000002-00000.csv").read_text() == (
        '"k,1",x\na,0\nb,0\na,1\nb,1\na,2\nb,2\n')
    (sink / "a" / "trigger-000000004-00000.csv").write_text("x,k\na,1\n")
    (sink / "a" / "trigger-000000005-00000.csv").write_text("x,k\na,1\n")
    with pytest.raises(RunError, match="holds CSV files with other columns than the rest"):
        compact(sink, ["a"])


def test_files_that_weft_cannot_merge_are_left_between_those_it_can():
    found = [result_file(f"trigger-{number:09d}-00000.{ending}", 10, 0.0)
             for number, ending in enumerate(["json", "json", "json.gz", "json", "json", "parquet", "json"])]
    merges = choose_merges([file for file in found if file], 1000, 1.0)
    assert [merge.name(0, merge.ending) for merge in merges] == [
        "compacted-000000000-000000001-00000.json", "compacted-000000003-000000004-00000.json"]
    assert result_file("trigger-1-00000.json", 1, 0.0) is result_file("schema.json", 1, 0.0) is None


def test_a_stream_that_writes_and_readers_beside_see_every_row_once(sink, monkeypatch):
    """A stream publishes, somebody compacts again and again, and readers look all the time."""
    monkeypatch.setattr(run, "GRACE", 0.02)
    published, over, wrong = [10], threading.Event(), []

    def stream() -> None:
        while not over.is_set():
            publish(sink, "a", published[0])
            published[0] += 1
            time.sleep(0.002)

    def read() -> None:
        while not over.is_set():
            at_least = published[0]
            seen = rows(sink, "a")
            if max(seen.values()) > 1 or expected("a", range(at_least)) - seen:
                wrong.append((at_least, seen))

    threads = [threading.Thread(target=work) for work in (stream, read, read)]
    for thread in threads:
        thread.start()
    try:
        merged = [compact(sink, ["a"])[0].merged_files for _ in range(15)]
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not wrong and min(merged) > 0
    compact(sink)
    assert rows(sink, "a") == expected("a", range(published[0]))
    assert len(names(sink, "a")) == 3


def test_a_stream_from_an_older_checkpoint_does_not_answer_what_was_merged_again(sink):
    compact(sink)
    stream = FileSink(FolderSink("json", str(sink)), STREAM, "scan-0")
    for number in (0, 8):
        with pytest.raises(RunError, match=f"trigger {number} would be answered again.* older than its sink"):
            stream.sweep(["a"], number)
    assert rows(sink, "a") == expected("a", range(10))
    stream.sweep(["a", "none"], 9)
    assert names(sink, "a") == ["compacted-000000000-000000008-00000.json"]


def test_a_folder_without_locks_is_written_without_and_not_compacted(sink, monkeypatch):
    monkeypatch.setattr(folders, "fcntl", None)
    with folders.hold_if_possible(str(sink)):
        pass
    with pytest.raises(RunError, match="its file system has no locks"):
        compact(sink)


def test_the_command_tells_what_it_merged(sink):
    invoke = CliRunner().invoke
    assert "36 files would become 2." in invoke(app, ["compact", str(sink), "--dry-run"]).stdout
    shown = json.loads(invoke(app, ["compact", str(sink), "-q", "a", "--target-size", "1GB", "--json"]).stdout)
    size = (sink / "a" / "compacted-000000000-000000008-00000.json").stat().st_size
    assert shown == {"ok": True, "sink": str(sink), "dry_run": False, "queries": [
        {"query": "a", "files_before": 20, "files_after": 3, "merged_files": 18, "merged_bytes": size}]}
    told = invoke(app, ["compact", str(sink), "--older", "1 hour"])
    assert (told.exit_code, told.stdout) == (0, "Nothing to merge.\n")
    failed = invoke(app, ["compact", str(sink / "a")])
    assert failed.exit_code == 1 and "is not the sink of a stream" in failed.stderr


@pytest.mark.parametrize("text, size", [("128MB", 128 << 20), ("1 gb", 1 << 30), ("1.5k", 1536), (200, 200),
                                        ("2MiB", 2 << 20)])
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text, age", [("1h", 3600), ("30 minutes", 1800), ("2 days", 172_800), ("5s", 5),
                                       ("1.5 min", 90)])
def test_ages(text, age):
    assert parse_age(text) == age


@pytest.mark.parametrize("text", ["", "much", "0", "-5MB", "5 parsecs"])
def test_sizes_and_ages_that_are_none(text):
    with pytest.raises(RunError, match="is no size"):
        parse_size(text)
    if text != "0":
        with pytest.raises(RunError, match="is no length of time"):
            parse_age(text)
