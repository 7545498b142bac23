"""What a query's folder says of its rows, what of it can be used, and which generations are joined."""

from __future__ import annotations

import json
import os

import pytest
from pyarrow import fs

from weft.catalog.slice_caches import File, Generation, SliceCache
from weft.errors import RunError
from weft.final.outputs.buckets import TimeBuckets
from weft.model.stages import AskedQuery
from weft.model.window import Window
from weft.spark.incremental import kept_slices
from weft.spark.incremental.kept_slices import KeptSlices, join_last, why_derived_anew
from weft.spark.refresh import kept_answers
from weft.spark.refresh.folders import describe, is_changed, link_unchanged
from weft.spark.refresh.kept_answers import KeptAnswers, folder_facts, read_answers, why_cut_anew, why_strange
from weft.spark.refresh.seen import SEEN, as_seen, read_seen, write_seen
from weft.spark.refresh.updates import Update
from weft.spark.write.owned import MARK, mark_result, require_replaceable
from weft.spark.write.spares import Spares

LOCAL = fs.LocalFileSystem()
NAMES = ("part-b1_2-x.parquet", "part-b2_4-x.parquet", "part-b2_4-y.parquet")


@pytest.fixture
def folder(tmp_path):
    """A folder of a query with rows in two buckets."""
    made = tmp_path / "q"
    made.mkdir()
    for name in NAMES:
        (made / name).write_text(name)
    kept = KeptAnswers("run", "meaning", "epoch", 3, 100, folder_facts(str(made), NAMES))
    mark_result(LOCAL, str(made), "q", "run", NAMES, kept.to_dict())
    return made


def update(folder, made, version=4, anew=""):
    """An update of the folder's query."""
    cache = SliceCache(1, (), (Generation("g", 1),), "epoch", version)
    slices = KeptSlices(None, "slices", cache, folder.parent, None)
    return Update("id", AskedQuery("q", Window(10, 5), 0), slices, "meaning", read_answers(LOCAL, str(folder)),
                  TimeBuckets(Window(10, 5), 100, made), anew)


def test_a_folder_says_what_it_holds(folder):
    kept = read_answers(LOCAL, str(folder))
    assert (kept.run, kept.epoch, kept.version, kept.unit) == ("run", "epoch", 3, 100)
    assert kept.buckets == {(1, 2): [NAMES[0]], (2, 4): [NAMES[1], NAMES[2]]}
    assert why_strange(str(folder), kept, "meaning") == ""
    require_replaceable(LOCAL, str(folder), "q")


def test_a_folder_of_an_older_version_says_what_it_holds(folder):
    mark = json.loads((folder / MARK).read_text())
    mark["kept"] = {**mark["kept"], "length": mark["kept"].pop("unit")}
    (folder / MARK).write_text(json.dumps(mark))
    kept = read_answers(LOCAL, str(folder))
    assert kept.unit == 100 and why_strange(str(folder), kept, "meaning") == ""


@pytest.mark.parametrize(("spoil", "why"), [
    (lambda folder: folder.rename(folder.with_name("elsewhere")), "there were no rows"),
    (lambda folder: (folder / MARK).write_text(json.dumps({"query": "q", "run": "r", "files": []})), "not written in"),
    (lambda folder: (folder / MARK).write_text(json.dumps({"query": "q", "run": "r", "kept": [1]})), "not written in"),
    (lambda folder: (folder / MARK).write_text("{"), "not written in"),
    (lambda folder: (folder / NAMES[1]).unlink(), f"'{NAMES[1]}' in its folder is gone"),
    (lambda folder: (folder / NAMES[1]).write_text("something else"), f"'{NAMES[1]}' in its folder is gone or has"),
    (lambda folder: os.utime(folder / NAMES[2], (1, 1)), f"'{NAMES[2]}' in its folder is gone or has"),
])
def test_what_cannot_be_used_is_told(folder, spoil, why):
    spoil(folder)
    assert why in why_strange(str(folder), read_answers(LOCAL, str(folder)), "meaning")


def test_rows_of_another_meaning_and_too_many_buckets_are_made_anew(folder, monkeypatch):
    kept = read_answers(LOCAL, str(folder))
    assert why_strange(str(folder), kept, "other") == "its rows are those of another query, plan or setting"
    monkeypatch.setattr(kept_answers, "MOST_BUCKETS", 1)
    assert why_strange(str(folder), kept, "meaning") == ""
    assert why_cut_anew(kept) == "it has grown to 2 buckets of time" and why_cut_anew(None) == ""


def test_new_buckets_stand_beside_links_to_the_others(folder, tmp_path):
    new, made = tmp_path / "new", update(folder, ((2, 3), (3, 4)))
    new.mkdir()
    (new / "part-b2_3-z.parquet").write_text("z")
    assert is_changed(made, ["part-b2_3-z.parquet"])
    link_unchanged(made, str(folder), str(new), Spares(str(tmp_path)))
    assert {path.name for path in new.iterdir()} == {NAMES[0], "part-b2_3-z.parquet"}
    assert (new / NAMES[0]).stat().st_ino == (folder / NAMES[0]).stat().st_ino
    after = describe(made, str(new), "next", None, None)
    assert (after.run, after.version, after.unit, set(after.buckets)) == ("next", 4, 100, {(1, 2), (2, 3)})


def test_a_file_that_goes_before_its_folder_is_described_is_told(folder, tmp_path):
    """Else what is left would be recorded as all there is."""
    made = update(folder, ((2, 4),))
    link_unchanged(made, str(folder), str(tmp_path / "new"), Spares(str(tmp_path)))
    (tmp_path / "new" / NAMES[0]).unlink()
    (tmp_path / "new" / "part-b2_3-z.parquet").write_text("z")
    with pytest.raises(RunError, match=f"{NAMES[0]}' has gone while its query was brought up to date: run again"):
        describe(made, str(tmp_path / "new"), "next", None, None)


def test_a_bucket_that_has_no_rows_any_more_goes(folder, tmp_path):
    assert is_changed(update(folder, ((2, 4),)), [])
    link_unchanged(update(folder, ((2, 4),)), str(folder), str(tmp_path / "new"), Spares(str(tmp_path)))
    assert [path.name for path in (tmp_path / "new").iterdir()] == [NAMES[0]]


def seen_answers(folder):
    """What the mark and the sink's page say together."""
    return as_seen(read_answers(LOCAL, str(folder)), read_seen(LOCAL, str(folder.parent)).get("q"))


def test_where_nothing_changes_only_the_sinks_page_is_written(folder):
    root, made, mark = str(folder.parent), update(folder, ((5, 6),)), (folder / MARK).stat().st_mtime_ns
    assert not is_changed(made, [])
    write_seen(LOCAL, root, {}, [made], [])
    kept = seen_answers(folder)
    assert kept.version == 4 and (folder / MARK).stat().st_mtime_ns == mark
    assert why_strange(str(folder), kept, "meaning") == ""
    assert kept.is_ahead(update(folder, (), version=2).slices.cache)  # a run that saw less comes later
    write_seen(LOCAL, root, read_seen(LOCAL, root), [], ["q"])  # its folder was written since
    assert read_seen(LOCAL, root) == {} and seen_answers(folder).version == 3


@pytest.mark.parametrize("page", ['{"q": ["another run", "epoch", 9]}', '{"q": ["run", "another epoch", 9]}',
                                  '{"q": ["run", "epoch", 2]}', '{"q": ["run"]}', '["q"]', "{", "{}", '{"other": 1}'])
def test_a_page_of_another_folder_or_one_that_cannot_be_read_says_nothing(folder, page):
    (folder.parent / SEEN).write_text(page)
    assert seen_answers(folder).version == 3


def test_a_file_system_without_links_gets_copies_that_pass_for_the_files(folder, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    link_unchanged(update(folder, ((2, 4),)), str(folder), str(tmp_path / "new"), Spares(str(tmp_path)))
    assert folder_facts(str(tmp_path / "new"), NAMES[:1]) == folder_facts(str(folder), NAMES[:1])


@pytest.mark.parametrize(("sizes", "joined"), [
    ([100, 1, 1], 0), ([100, 1, 1, 1, 1], 4), ([100, 4, 1, 1, 1], 4), ([1, 1, 1, 1], 4), ([64, 16, 4, 1], 0),
    ([100, 9, 1, 1, 1], 3),
])
def test_few_large_generations_are_written_again(sizes, joined):
    assert join_last([Generation(str(i), size) for i, size in enumerate(sizes)], 3) == joined


def test_what_is_derived_goes_on_from_where_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_slices, "size_of", lambda folder: 1)
    generations = (Generation("a", 1, 0, 0), Generation("b", 1, 1, 2), Generation("c", 1, 3, 3))
    parent = KeptSlices(None, "", SliceCache(1, (), generations, "epoch", 3), tmp_path, None)
    cache = SliceCache(2, (), (Generation("d", 1),), "other", 0)

    def why(epoch, version, having=cache):
        return why_derived_anew(having, [File(f"slices:{epoch}", version, 0)], parent)

    assert why("epoch", 0) == why("epoch", 2) == why("epoch", 3) == ""
    assert "joined" in why("epoch", 1) and "joined" in why("epoch", 4) and "anew" in why("older", 2)
    assert "nothing is kept" in why("epoch", 0, SliceCache(2, (), ()))
    monkeypatch.setattr(kept_slices, "size_of", lambda folder: 2)
    assert "damaged" in why("epoch", 3)
