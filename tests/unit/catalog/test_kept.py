"""Caches in the catalog: found, filled, compacted, swept; only what is committed counts."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest

from weft.catalog import slice_caches as kept
from weft.catalog.database import open_catalog
from weft.catalog.slice_caches import (
    File,
    Generation,
    begin_generation,
    commit_anew,
    commit_increment,
    commit_merged,
    covered_files,
    expired_generations,
    forget_generation,
    known_columns,
    spans_since,
    take_slice_cache,
)

ONE, TWO = File("file:/1", 10, 1), File("file:/2", 20, 2)


@pytest.fixture
def catalog(tmp_path):
    with open_catalog(tmp_path / "catalog.db") as opened:
        yield opened


def fill(catalog, cache, *files, spans=((0, 1),)):
    new = Generation(begin_generation(catalog, cache), 100)
    if not cache.generations:
        return commit_anew(catalog, cache, new, files)
    return commit_increment(catalog, cache, new, files, spans)


def merge(catalog, cache, *generations):
    return commit_merged(catalog, cache, Generation(begin_generation(catalog, cache), 100), generations)


def cache(catalog, *columns, wider=False):
    return take_slice_cache(catalog, "mark", columns or ("sum(x)",), wider)


def test_a_generation_counts_when_it_is_committed(catalog):
    empty = cache(catalog)
    begin_generation(catalog, empty)
    assert cache(catalog) == empty and not empty.generations
    assert fill(catalog, empty, ONE) and covered_files(catalog, cache(catalog)) == {ONE.path: ONE}
    assert fill(catalog, cache(catalog), TWO) and set(covered_files(catalog, cache(catalog))) == {ONE.path, TWO.path}
    assert [g.bytes for g in cache(catalog).generations] == [100, 100]


def test_a_clock_that_is_set_back_changes_no_order(catalog, monkeypatch):
    """Neither which versions of other slices a derived cache has read, nor which generations are joined as the last."""
    versions = [File("slices:epoch", version, 0) for version in range(3)]
    for now, version in zip((300.0, 200.0, 100.0), versions, strict=True):
        monkeypatch.setattr(kept, "time", lambda now=now: now)
        assert fill(catalog, cache(catalog), version)
    found = cache(catalog)
    assert [(g.first, g.last) for g in found.generations] == [(0, 0), (1, 1), (2, 2)]
    assert covered_files(catalog, found) == {"slices:epoch": versions[2]}
    backwards = replace(found, generations=found.generations[::-1])
    assert covered_files(catalog, backwards) == {"slices:epoch": versions[2]}
    assert covered_files(catalog, merge(catalog, found, *found.generations[-2:])) == {"slices:epoch": versions[2]}


def test_who_comes_second_adds_nothing(catalog):
    mine = theirs = cache(catalog)
    assert fill(catalog, theirs, ONE)
    assert not fill(catalog, mine, ONE) and len(cache(catalog).generations) == 1


def test_replaced_generations_count_no_longer(catalog):
    fill(catalog, cache(catalog), ONE)
    fill(catalog, cache(catalog), TWO)
    both = cache(catalog)
    assert merge(catalog, both, *both.generations)
    assert len(cache(catalog).generations) == 1 and set(covered_files(catalog, cache(catalog))) == {ONE.path, TWO.path}
    assert set(both.ids) < known_columns(catalog)
    assert commit_anew(catalog, cache(catalog), Generation(begin_generation(catalog, both), 1), [TWO])
    assert set(covered_files(catalog, cache(catalog))) == {TWO.path}


def test_what_came_since_a_version_is_told(catalog):
    fill(catalog, cache(catalog), ONE)
    first = cache(catalog)
    assert (first.epoch, first.version) == (first.ids[0], 0) and spans_since(catalog, first, first.epoch, 0) == ()
    for number in range(1, 4):
        fill(catalog, cache(catalog), File(f"file:/{number}", 1, 1), spans=((number * 10, number * 10 + 1),))
    last = cache(catalog)
    assert last.version == 3 and last.epoch == first.epoch
    assert spans_since(catalog, last, first.epoch, 1) == ((20, 21), (30, 31))
    assert spans_since(catalog, last, first.epoch, 3) == () and spans_since(catalog, last, first.epoch, 4) is None
    assert spans_since(catalog, last, "another", 1) is None


def test_joining_generations_changes_no_version(catalog):
    for number in range(4):
        fill(catalog, cache(catalog), File(f"file:/{number}", 1, 1), spans=((number, number + 1),))
    before = cache(catalog)
    joined = merge(catalog, before, *before.generations[2:])
    assert joined == cache(catalog) and (joined.epoch, joined.version) == (before.epoch, 3)
    assert [(g.first, g.last) for g in joined.generations] == [(0, 0), (1, 1), (2, 3)]
    assert spans_since(catalog, joined, joined.epoch, 0) == ((1, 4),)
    assert set(covered_files(catalog, joined)) == {f"file:/{number}" for number in range(4)}


def test_a_cache_that_is_made_anew_begins_another_epoch(catalog):
    for number in range(3):
        fill(catalog, cache(catalog), File(f"file:/{number}", 1, 1))
    before = cache(catalog)
    commit_anew(catalog, before, Generation(begin_generation(catalog, before), 1), [TWO])
    after = cache(catalog)
    assert after.version == 0 and after.epoch != before.epoch
    assert spans_since(catalog, after, before.epoch, 0) is None
    assert catalog.rows("SELECT count(*) FROM increments") == [(0,)]


def test_what_came_too_long_ago_is_forgotten(catalog, monkeypatch):
    monkeypatch.setattr(kept, "INCREMENTS", 2)
    for number in range(5):
        fill(catalog, cache(catalog), File(f"file:/{number}", 1, 1))
    now = cache(catalog)
    assert spans_since(catalog, now, now.epoch, 1) is None and spans_since(catalog, now, now.epoch, 2) == ((0, 1),)


def test_a_wider_shelf_serves_only_where_it_has_slices(catalog):
    wide = cache(catalog, "a", "b", "c")
    assert cache(catalog, "b", "a", wider=True).columns == ("b", "a")
    fill(catalog, wide, ONE)
    assert cache(catalog, "a", "b", wider=True).columns == ("a", "b", "c")
    assert cache(catalog, "a", "b").columns == ("b", "a")
    fill(catalog, cache(catalog, "a", "b"), ONE)
    assert cache(catalog, "a", "b", wider=True).columns == ("b", "a")
    assert take_slice_cache(catalog, "other", ("a",), True).columns == ("a",)


def test_what_nobody_needs_is_told_after_a_while(catalog, monkeypatch):
    abandoned = begin_generation(catalog, cache(catalog))
    fill(catalog, cache(catalog), ONE)
    (old,) = cache(catalog).ids
    commit_anew(catalog, cache(catalog), Generation(begin_generation(catalog, cache(catalog)), 1), [ONE, TWO])
    assert expired_generations(catalog) == []
    now = time.time()
    monkeypatch.setattr(kept, "time", lambda: now + kept.LEASE + 60)
    assert set(expired_generations(catalog)) == {abandoned, old}
    forget_generation(catalog, [abandoned, old])
    assert known_columns(catalog) == set(cache(catalog).ids)  # which is used by this
    monkeypatch.setattr(kept, "time", lambda: now + 2 * kept.LEASE + kept.UNUSED)
    assert expired_generations(catalog) == []  # retired just now
    monkeypatch.setattr(kept, "time", lambda: now + 4 * kept.LEASE + kept.UNUSED)
    forget_generation(catalog, expired_generations(catalog))
    assert known_columns(catalog) == set() and catalog.rows("SELECT count(*) FROM slice_caches") == [(0,)]


def test_a_generation_that_was_swept_meanwhile_cannot_be_committed(catalog):
    mine = cache(catalog)
    name = begin_generation(catalog, mine)
    forget_generation(catalog, [name])
    assert not commit_anew(catalog, mine, Generation(name, 1), [ONE])


def test_a_sweep_takes_folders_that_nobody_knows_and_leaves_those_in_use(catalog, tmp_path, monkeypatch):
    from weft.spark.incremental.slice_cache import sweep

    folder = tmp_path / "slices"
    fill(catalog, cache(catalog), ONE)
    (live,) = cache(catalog).ids
    writing = begin_generation(catalog, cache(catalog))
    stray = "5" * 32
    for name in (live, writing, stray, "fresh", "a user's"):
        (folder / name).mkdir(parents=True)
    long_ago = time.time() - kept.LEASE - 60
    for name in (live, writing, stray, "a user's"):
        os.utime(folder / name, (long_ago, long_ago))
    sweep(catalog, folder)
    assert {path.name for path in folder.iterdir()} == {live, writing, "fresh", "a user's"}
    now = time.time()
    monkeypatch.setattr(kept, "time", lambda: now + kept.LEASE + 60)
    monkeypatch.setattr("weft.spark.incremental.slice_cache.forget_generation", stop)
    with pytest.raises(KeyboardInterrupt):
        sweep(catalog, folder)  # killed between folder and record
    monkeypatch.undo()
    monkeypatch.setattr(kept, "time", lambda: now + kept.LEASE + 60)
    sweep(catalog, folder)
    assert {path.name for path in folder.iterdir()} == {live, "fresh", "a user's"} and known_columns(catalog) == {live}


def stop(*_):
    raise KeyboardInterrupt
