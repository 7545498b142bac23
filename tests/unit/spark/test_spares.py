"""Spare folders: what is in place is always the old or the new rows, and a spare folder never holds anything else."""

from __future__ import annotations

import os
import shutil

import pytest
from pyarrow import fs

from weft.spark.batch.run import QUERY
from weft.spark.refresh.folders import link_unchanged, result_names
from weft.spark.refresh.kept_answers import KeptAnswers, folder_facts, read_answers
from weft.spark.write import spares as spares_module
from weft.spark.write import staging as staging_module
from weft.spark.write.owned import MARK, mark_result, require_replaceable
from weft.spark.write.spares import SPARE, Spares
from weft.spark.write.staging import Staging, recover, staged

LOCAL = fs.LocalFileSystem()
OLD = 6  # buckets that stay


class Killed(BaseException):
    """A kill: nothing is cleaned up after it."""


class Refreshed:
    """The little of an update that folders need: bucket 9 of query `q` is made again."""

    name = "q"

    def __init__(self, place):
        self.unchanged = [name for name in read_answers(LOCAL, str(place)).files if "b9" not in name]


def first(root):
    """The folder of a query as a run leaves it."""
    place = root / "q"
    place.mkdir(parents=True)
    for name in (*(f"part-b{i}-x.parquet" for i in range(OLD)), "part-b9-0.parquet"):
        (place / name).write_text(name)
    put_mark(str(place), "0" * 32)
    return place


def put_mark(folder, run):
    kept = KeptAnswers(run, "meaning", "epoch", 1, 100, folder_facts(folder, result_names(folder)))
    mark_result(LOCAL, folder, "q", run, kept.files, kept.to_dict())
    return kept.to_dict()


def refresh(root, number):
    """One refresh of the query: a new file for bucket 9, links to the others, a swap, a spare folder."""
    place, spares = root / "q", Spares(str(root))
    with staged(LOCAL, str(root)) as staging:
        folder = f"{staging.folder}/0/{QUERY}=q"
        link_unchanged(Refreshed(place), str(place), folder, spares)
        (root / folder / f"part-b9-{number}.parquet").write_text(f"part-b9-{number}.parquet")
        kept = {"files": folder_facts(folder, result_names(folder)), **put_mark_later(folder, staging.run)}
        staging.publish(["q"], {"q": kept})
        spares.keep("q", folder, kept["files"])


def put_mark_later(folder, run):
    return KeptAnswers(run, "meaning", "epoch", 1, 100, folder_facts(folder, result_names(folder))).to_dict()


def is_whole(place):
    """Whether the folder has just the files that its mark names, each with what belongs in it; the last number."""
    require_replaceable(LOCAL, str(place), "q")
    names = result_names(str(place))
    assert names == sorted(read_answers(LOCAL, str(place)).files) and len(names) == OLD + 1
    assert all((place / name).read_text() == name for name in names)
    return int(names[-1].removeprefix("part-b9-").removesuffix(".parquet"))


def test_a_folder_that_was_swapped_out_is_the_next_one(tmp_path):
    place = first(tmp_path)
    refresh(tmp_path, 1)
    spare = tmp_path / SPARE / "q"
    assert is_whole(place) == 1 and result_names(str(spare)) == sorted(f"part-b{i}-x.parquet" for i in range(OLD))
    marks = {(place / MARK).stat().st_ino, (spare / MARK).stat().st_ino}
    folders = {place.stat().st_ino, spare.stat().st_ino}
    for number in (2, 3, 4):
        refresh(tmp_path, number)
        assert is_whole(place) == number
        assert {(place / MARK).stat().st_ino, (spare / MARK).stat().st_ino} == marks
        assert {place.stat().st_ino, spare.stat().st_ino} == folders, "no folder was made"
    assert not [name for name in os.listdir(tmp_path) if name.startswith("_weft_staging")]


@pytest.mark.parametrize("spoiled", ["no mark", "a stranger", "another file", "not there", "a file"])
def test_whatever_lies_in_a_spare_folder_the_next_one_is_right(tmp_path, spoiled):
    place = first(tmp_path)
    refresh(tmp_path, 1)
    spare = tmp_path / SPARE / "q"
    if spoiled == "no mark":
        (spare / MARK).unlink()
    elif spoiled == "a stranger":
        (spare / "part-b9-7.parquet").write_text("stale")
    elif spoiled == "another file":
        (spare / "part-b0-x.parquet").unlink()
        (spare / "part-b0-x.parquet").write_text("wrong")
    else:
        Spares(str(tmp_path)).drop(["q"])
        spare.write_text("") if spoiled == "a file" else None
    refresh(tmp_path, 2)
    assert is_whole(place) == 2


def test_a_copy_of_the_sink_as_links_stays_as_it_is(tmp_path):
    root, copy = tmp_path / "sink", tmp_path / "copy"
    place = first(root)
    refresh(root, 1)
    shutil.copytree(root, copy, copy_function=os.link)
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    for number in (2, 3, 4):
        refresh(root, number)
        assert is_whole(place) == number
    assert before == {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    assert is_whole(copy / "q") == 1


def test_a_worker_that_makes_the_folder_first_is_left_alone(tmp_path):
    place = first(tmp_path)
    refresh(tmp_path, 1)
    folder = tmp_path / "staged" / "q"
    folder.mkdir(parents=True)
    (folder / "part-b9-2.parquet").write_text("new")
    link_unchanged(Refreshed(place), str(place), str(folder), Spares(str(tmp_path)))
    assert len(result_names(str(folder))) == OLD + 1 and not (tmp_path / SPARE / "q").exists()


def test_a_spare_folder_goes_with_its_query(tmp_path):
    first(tmp_path)
    refresh(tmp_path, 1)
    os.rename(tmp_path / "q", tmp_path / "elsewhere")
    Spares(str(tmp_path))
    assert os.listdir(tmp_path / SPARE) == []


def test_a_spare_folder_goes_where_another_query_has_the_place(tmp_path):
    place = first(tmp_path)
    refresh(tmp_path, 1)
    mark_result(LOCAL, str(place), "another", "1" * 32, [])
    Spares(str(tmp_path))
    assert os.listdir(tmp_path / SPARE) == []


def test_copies_are_not_kept(tmp_path, monkeypatch):
    """Where the file system has no second names, a spare folder would hold as much as what is in place."""
    place = first(tmp_path)

    def refuse(*args, **more):
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    for number in (1, 2):
        refresh(tmp_path, number)
        assert is_whole(place) == number and not (tmp_path / SPARE / "q").exists()


def strangers(root, kind):
    """Something in `_weft_spare` that Weft did not put there, at `q` and at a name of no query; its files."""
    far = root.parent / f"{root.name} elsewhere"
    for name in ("q", "x"):
        (far / name).mkdir(parents=True)
        (far / name / "mine.txt").write_text("mine")
    if kind == "the home is a link":
        (root / SPARE).symlink_to(far)
    elif kind == "a folder is a link":
        (root / SPARE).mkdir()
        for name in ("q", "x"):
            (root / SPARE / name).symlink_to(far / name)
            put_mark(str(far / name), "0" * 32)
    else:
        (root / SPARE).mkdir()
        for name in ("q", "x"):
            os.rename(far / name, root / SPARE / name)
            if kind == "of another query":
                mark_result(LOCAL, str(root / SPARE / name), "another", "0" * 32, [])
            elif kind == "has a folder":
                (root / SPARE / name / MARK).write_text("!")
                (root / SPARE / name / "deeper").mkdir()
    return [root / SPARE / name / "mine.txt" for name in ("q", "x")]


@pytest.mark.parametrize("kind", ["no mark", "of another query", "has a folder", "a folder is a link",
                                  "the home is a link"])
def test_what_weft_did_not_put_there_is_left_alone(tmp_path, kind):
    root = tmp_path / "sink"
    place = first(root)
    mine = strangers(root, kind)
    for number in (1, 2):
        refresh(root, number)
        assert is_whole(place) == number
        Spares(str(root)).drop(["q", "x"])
        assert [path.read_text() for path in mine] == ["mine", "mine"]


def test_a_spare_folder_that_was_removed_in_part_goes_with_the_next_run(tmp_path, monkeypatch):
    first(tmp_path)
    refresh(tmp_path, 1)
    spares, spare = Spares(str(tmp_path)), tmp_path / SPARE / "q"
    with monkeypatch.context() as patch:
        patch.setattr(os, "rmdir", lambda path: None)
        real, left = os.remove, [3]

        def remove(path):
            left[0] -= 1
            if left[0] < 0:
                raise OSError("busy")
            real(path)

        patch.setattr(os, "remove", remove)
        spares.drop(["q"])
    assert (spare / MARK).exists() and len(result_names(str(spare))) == OLD - 3
    spares.drop(["q"])
    assert not spare.exists()


def test_a_kill_at_any_step_leaves_old_or_new_rows(tmp_path, monkeypatch):
    """Every call of the system that changes something is a step; the next run finds what the killed one left."""
    for step in range(200):
        root, left = tmp_path / str(step), [step]
        place = first(root)
        refresh(root, 1)

        def counted(real, left=left):
            def call(*args, **more):
                left[0] -= 1
                if left[0] < 0:
                    raise Killed
                return real(*args, **more)
            return call

        with monkeypatch.context() as patch:
            for name in ("rename", "remove", "link", "makedirs", "rmdir"):
                patch.setattr(os, name, counted(getattr(os, name)))
            patch.setattr(spares_module, "spoil", counted(spares_module.spoil))
            for name in ("exchange_folders", "mark_result"):
                patch.setattr(staging_module, name, counted(getattr(staging_module, name)))
            for name in ("put_back", "remove"):
                patch.setattr(Staging, name, lambda *_: None)
            patch.setattr(Staging, "delete", counted(Staging.delete))
            try:
                refresh(root, 2)
                break
            except Killed:
                pass
        assert is_whole(place) in (1, 2), step
        recover(LOCAL, str(root))
        assert is_whole(place) in (1, 2) and {path.name for path in root.iterdir()} <= {"q", SPARE}, step
        refresh(root, 3)
        assert is_whole(place) == 3, step
    assert 8 < step < 200
