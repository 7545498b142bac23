"""Staging: whatever is killed, fails or lies in the way, results are the old or the new ones, and nothing is lost."""

from __future__ import annotations

import errno
import os

import pytest
from pyarrow import fs

from weft.errors import RunError
from weft.io import files as moving
from weft.spark.batch.run import QUERY
from weft.spark.write import staging as staging_module
from weft.spark.write.owned import MARK, mark_result
from weft.spark.write.staging import Staging, locked, recover, staged

LOCAL = fs.LocalFileSystem()


class Killed(BaseException):
    """A kill: nothing is cleaned up after it."""


class Fragile(fs.FileSystemHandler):
    """A local file system that dies at a given change, and from then on changes nothing; folders do not move in it."""

    def __init__(self, last: int, whole: bool):
        self.left, self.whole = last, whole

    def change(self, act, *args):
        self.left -= 1
        if self.left < 0:
            raise Killed
        return act(*args)

    def move(self, src, dest):
        if not self.whole and os.path.isdir(src):
            raise OSError(f"objects are moved one by one, and '{src}' is a folder")
        os.makedirs(os.path.dirname(dest), exist_ok=True)
        self.change(LOCAL.move, src, dest)

    def delete_dir(self, path):
        self.change(LOCAL.delete_dir, path)

    def delete_file(self, path):
        self.change(LOCAL.delete_file, path)

    def create_dir(self, path, recursive):
        LOCAL.create_dir(path, recursive=recursive)

    def get_type_name(self):
        return "whole" if self.whole else "objects"

    def get_file_info(self, paths):
        return LOCAL.get_file_info(paths)

    def get_file_info_selector(self, selector):
        return LOCAL.get_file_info(selector)

    def open_input_stream(self, path):
        return LOCAL.open_input_stream(path)

    def open_output_stream(self, path, metadata):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return LOCAL.open_output_stream(path)

    def no(self, *args):
        raise NotImplementedError

    copy_file = delete_dir_contents = delete_root_dir_contents = normalize_path = no
    open_input_file = open_append_stream = no


def fragile(last: int, whole: bool) -> fs.FileSystem:
    return fs.PyFileSystem(Fragile(last, whole))


def result(folder, query, text, run="before"):
    """A folder of results as a run leaves it."""
    folder.mkdir(parents=True)
    for i in range(2):
        (folder / f"part-{i}").write_text(text)
    mark_result(LOCAL, str(folder), query, run, ["part-0", "part-1"])


def write(root, staging, queries):
    """What Spark leaves in a staging folder."""
    for query in queries:
        folder = root / staging.name / "0" / f"{QUERY}={query}"
        folder.mkdir(parents=True)
        for i in range(2):
            (folder / f"part-{i}").write_text("new")


def texts(folder):
    """What the files of a result say."""
    return sorted(path.read_text() for path in folder.glob("part-*"))


def publish(files, root, queries):
    with staged(files, str(root)) as staging:
        write(root, staging, queries)
        staging.publish(queries)


@pytest.mark.parametrize("whole", [True, False])
def test_a_kill_at_any_step_leaves_old_or_new_results(tmp_path, monkeypatch, whole):
    monkeypatch.setattr(moving, "OBJECT_STORES", ("py::objects",))
    monkeypatch.setattr(Staging, "put_back", lambda *_: None)
    monkeypatch.setattr(Staging, "remove", lambda *_: None)
    for step in range(60):
        root = tmp_path / str(step)
        result(root / "a", "a", "old")
        try:
            publish(fragile(step, whole), root, ["a", "b"])
            break
        except Killed:
            pass
        monkeypatch.undo()
        monkeypatch.setattr(moving, "OBJECT_STORES", ("py::objects",))
        files = fragile(1000, whole)
        for lock in root.glob("*/_weft_lock"):
            os.utime(lock, (0, 0))  # nobody holds it: the run is long over
        recover(files, str(root))
        assert texts(root / "a") in (["old"] * 2, ["new"] * 2), step
        assert texts(root / "b") in ([], ["new"] * 2), step
        assert {path.name for path in root.iterdir()} <= {"a", "b"}, step
        publish(files, root, ["a", "b"])
        assert texts(root / "a") == texts(root / "b") == ["new"] * 2
        monkeypatch.setattr(Staging, "put_back", lambda *_: None)
        monkeypatch.setattr(Staging, "remove", lambda *_: None)
    assert 5 < step < 60


@pytest.mark.parametrize("whole", [True, False])
def test_a_move_that_fails_puts_all_back(tmp_path, monkeypatch, whole):
    monkeypatch.setattr(moving, "OBJECT_STORES", ("py::objects",))
    for query in ("a", "b"):
        result(tmp_path / query, query, "old")
    real, calls = Staging.replace, []

    def replace(self, query, new):
        calls.append(query)
        if query == "b":
            raise OSError("no space left")
        real(self, query, new)

    monkeypatch.setattr(Staging, "replace", replace)
    with pytest.raises(OSError, match="no space left"):
        publish(fragile(1000, whole), tmp_path, ["a", "b"])
    assert calls == ["a", "b"] and texts(tmp_path / "a") == texts(tmp_path / "b") == ["old"] * 2
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}


def test_what_comes_into_a_folder_while_a_run_writes_is_not_lost(tmp_path, monkeypatch):
    result(tmp_path / "a", "a", "old")
    monkeypatch.setattr("weft.spark.write.staging.require_replaceable", lambda *_: None)  # it came after that
    (tmp_path / "a" / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match=r"'notes.txt' in it was not written by Weft"):
        publish(LOCAL, tmp_path, ["a"])
    assert texts(tmp_path / "a") == ["old"] * 2 and (tmp_path / "a" / "notes.txt").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_run_that_is_alive_is_left_alone(tmp_path):
    with staged(LOCAL, str(tmp_path)) as staging:
        write(tmp_path, staging, ["a"])
        recover(LOCAL, str(tmp_path))
        assert locked(staging) is None
        staging.publish(["a"])
    assert texts(tmp_path / "a") == ["new"] * 2


def test_old_results_stay_in_staging_where_somebody_took_their_place(tmp_path):
    staging = Staging(LOCAL, str(tmp_path), "a" * 32)
    write(tmp_path, staging, ["q"])
    result(tmp_path / staging.name / "old" / "q", "q", "old")
    (tmp_path / staging.name / "_weft_lock").touch()
    (tmp_path / "q").mkdir()
    (tmp_path / "q" / "mine.txt").write_text("mine")
    recover(LOCAL, str(tmp_path))
    assert (tmp_path / "q" / "mine.txt").exists() and texts(tmp_path / staging.name / "old" / "q") == ["old"] * 2


def test_folders_of_an_older_version_are_left_alone(tmp_path):
    left = tmp_path / f"_weft_staging_{'b' * 32}" / "old_q"
    left.mkdir(parents=True)
    recover(LOCAL, str(tmp_path))
    assert left.exists() and MARK not in os.listdir(left)


def test_a_kill_while_folders_are_swapped_leaves_old_or_new_results(tmp_path, monkeypatch):
    """Where folders can be swapped a reader finds one of them at any moment, and what lay there is not lost."""
    for step in range(30):
        root, left = tmp_path / str(step), [step]
        for query in ("a", "b"):
            result(root / query, query, "old")

        def counted(real, left=left, root=root):
            def call(*args, **more):
                left[0] -= 1
                if left[0] < 0:
                    raise Killed
                made = real(*args, **more)
                assert texts(root / "a") in (["old"] * 2, ["new"] * 2)
                return made
            return call

        with monkeypatch.context() as patch:
            for name in ("move_folder", "exchange_folders", "mark_result", "require_result"):
                patch.setattr(f"weft.spark.write.staging.{name}", counted(getattr(staging_module, name)))
            patch.setattr(Staging, "put_back", lambda *_: None)
            patch.setattr(Staging, "remove", lambda *_: None)
            patch.setattr(Staging, "delete", counted(Staging.delete))
            try:
                publish(LOCAL, root, ["a", "b"])
                break
            except Killed:
                pass
        recover(LOCAL, str(root))
        assert all(texts(root / query) in (["old"] * 2, ["new"] * 2) for query in ("a", "b")), step
        assert {path.name for path in root.iterdir()} == {"a", "b"}, step
        publish(LOCAL, root, ["a", "b"])
        assert texts(root / "a") == texts(root / "b") == ["new"] * 2
    assert 6 < step < 30


def test_what_was_swapped_comes_back_if_it_cannot_be_looked_at(tmp_path, monkeypatch):
    result(tmp_path / "a", "a", "old")

    def fail(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr("weft.spark.write.staging.require_result", fail)
    with pytest.raises(OSError, match="no space left"):
        publish(LOCAL, tmp_path, ["a"])
    assert texts(tmp_path / "a") == ["old"] * 2 and [path.name for path in tmp_path.iterdir()] == ["a"]


def test_folders_are_moved_one_by_one_where_they_cannot_be_swapped(tmp_path, monkeypatch):
    result(tmp_path / "a", "a", "old")

    def cannot(one, other):
        raise OSError(errno.EINVAL, "not on this file system", one)

    monkeypatch.setattr("weft.spark.write.staging.exchange_folders", cannot)
    publish(LOCAL, tmp_path, ["a"])
    assert texts(tmp_path / "a") == ["new"] * 2 and [path.name for path in tmp_path.iterdir()] == ["a"]
