"""Slice caches: which slices are kept of a partial stage, in which generations, and which files each was made of.

A generation is *writing* until its folder is whole, *live* while answers read it, and *retired* when another has taken
its place; only the step to live makes it count, and that is one transaction. What was added to a cache since it was
made anew is counted by its version: whoever keeps answers remembers epoch and version, and is told what came since.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from time import time
from uuid import uuid4

from weft.catalog.database import Catalog
from weft.model.spans import Spans, join_spans

DAY = 86_400.0
# What is being written, or was replaced, is removed after so long: a run or a lazy result may still be at it.
LEASE = DAY
# A cache that no run has used for so long is dropped.
UNUSED = 7 * DAY
# Of so many additions it is known where in time they lie; answers that lack more are made anew.
INCREMENTS = 1000


@dataclass(frozen=True)
class File:
    """A file of a source as it was when it was read; `modified` is in nanoseconds."""

    path: str
    size: int
    modified: int


@dataclass(frozen=True)
class Generation:
    """Slices in one folder, the size of its files, and the versions of the cache whose additions it holds."""

    id: str
    bytes: int
    first: int = 0
    last: int = 0


@dataclass(frozen=True)
class SliceCache:
    """What is kept of a partial stage: its columns' SQL in order, and the generations that make up its slices. Another
    epoch begins when it is made anew, another version with each addition."""

    id: int
    columns: tuple[str, ...]
    generations: tuple[Generation, ...]
    epoch: str = ""
    version: int = 0

    @property
    def ids(self) -> tuple[str, ...]:
        """The live generations."""
        return tuple(generation.id for generation in self.generations)


def take_slice_cache(catalog: Catalog, fingerprint: str, columns: Collection[str], wider: bool) -> SliceCache:
    """The cache of these columns, or where `wider` allows it one that has more; a new one if there is none."""
    with catalog.changing():
        found = find_slice_cache(catalog, fingerprint, columns, wider)
        if found is None:
            number = catalog.change("INSERT INTO slice_caches (fingerprint, columns, used) VALUES (?, ?, ?)",
                                    (fingerprint, json.dumps(list(columns)), time()))
            return SliceCache(number, tuple(columns), ())
        catalog.change("UPDATE slice_caches SET used = ? WHERE id = ?", (time(), found.id))
        return found


def find_slice_cache(catalog: Catalog, fingerprint: str, columns: Collection[str], wider: bool) -> SliceCache | None:
    """The cache of just these columns, else the narrowest that has slices of them and others."""
    caches = caches_of(catalog, fingerprint)
    fitting = [s for s in caches if set(s.columns) == set(columns)]
    if wider and not any(s.generations for s in fitting):
        fitting += [s for s in caches if s.generations and set(s.columns) > set(columns)]
    return min(fitting, key=lambda s: (not s.generations, len(s.columns)), default=None)


def nearest_cache(catalog: Catalog, fingerprint: str, columns: Collection[str]) -> SliceCache | None:
    """The cache with slices that has most of these columns, None where none has any."""
    caches = [cache for cache in caches_of(catalog, fingerprint) if cache.generations]
    shared = [(len(set(cache.columns) & set(columns)), cache) for cache in caches]
    most, found = max(shared, key=lambda pair: pair[0], default=(0, None))
    return found if most else None


def caches_of(catalog: Catalog, fingerprint: str) -> list[SliceCache]:
    """Every cache of a fingerprint."""
    rows = catalog.rows("SELECT id, columns, epoch, version FROM slice_caches WHERE fingerprint = ?", (fingerprint,))
    return [SliceCache(number, tuple(json.loads(text)), live_generations(catalog, number), epoch, version)
            for number, text, epoch, version in rows]


def live_generations(catalog: Catalog, cache: int) -> tuple[Generation, ...]:
    """The generations that make up a cache's slices, oldest first: by the versions that they hold, for clocks are set
    back."""
    sql = ("SELECT id, bytes, first, last FROM generations WHERE slice_cache = ? AND state = 'live' "
           "ORDER BY last, since, id")
    found = catalog.rows(sql, (cache,))
    return tuple(Generation(*row) for row in found)


def covered_files(catalog: Catalog, cache: SliceCache) -> dict[str, File]:
    """The files that the cache's slices were made of, by path. Only what stands for other slices is there more than
    once, its size being their version: the last one counts."""
    found: dict[str, File] = {}
    for generation in cache.ids:
        rows = catalog.rows("SELECT path, size, modified FROM generation_files WHERE generation = ?", (generation,))
        for file in (File(*row) for row in rows):
            found[file.path] = max(found.get(file.path, file), file, key=lambda each: each.size)
    return found


def begin_generation(catalog: Catalog, cache: SliceCache) -> str:
    """A new generation that is yet to be written: whoever finds its folder knows whose it is and since when."""
    name = uuid4().hex
    catalog.change("INSERT INTO generations (id, slice_cache, state, since) VALUES (?, ?, 'writing', ?)",
                   (name, cache.id, time()))
    return name


def commit_anew(catalog: Catalog, cache: SliceCache, new: Generation, files: Iterable[File]) -> SliceCache | None:
    """Make a written generation all that a cache holds; None if the cache is not as it was when it was taken."""
    made = replace(cache, generations=(new,), epoch=new.id, version=0)
    with catalog.changing():
        if not put_in_place(catalog, cache, made, files):
            return None
        catalog.change("DELETE FROM increments WHERE slice_cache = ?", (cache.id,))
    return made


def commit_increment(catalog: Catalog, cache: SliceCache, new: Generation, files: Iterable[File],
                     spans: Spans) -> SliceCache | None:
    """Add a written generation to a cache, whose slices start within the spans; None as in `commit_anew`.

    Two processes may have read the same new files: only the first of them adds what it made.
    """
    version = cache.version + 1
    added = replace(new, first=version, last=version)
    made = replace(cache, generations=(*cache.generations, added), version=version)
    with catalog.changing():
        if not put_in_place(catalog, cache, made, files):
            return None
        catalog.change("INSERT INTO increments VALUES (?, ?, ?)", (cache.id, version, json.dumps(spans)))
        catalog.change("DELETE FROM increments WHERE slice_cache = ? AND version <= ?",
                       (cache.id, version - INCREMENTS))
    return made


def commit_merged(catalog: Catalog, cache: SliceCache, new: Generation,
                  merged: Collection[Generation]) -> SliceCache | None:
    """Put a written generation in place of some, whose slices it holds; None as in `commit_anew`."""
    files = covered_files(catalog, replace(cache, generations=tuple(merged))).values()
    whole = replace(new, first=min(g.first for g in merged), last=max(g.last for g in merged))
    made = replace(cache, generations=(*(g for g in cache.generations if g not in merged), whole))
    with catalog.changing():
        return made if put_in_place(catalog, cache, made, files) else None


def put_in_place(catalog: Catalog, cache: SliceCache, made: SliceCache, files: Iterable[File]) -> bool:
    """Let the last generation of a cache count, and those that it has no longer not; False if others were first."""
    new = made.generations[-1]
    state = catalog.rows("SELECT state FROM generations WHERE id = ?", (new.id,))
    if state != [("writing",)] or {g.id for g in live_generations(catalog, cache.id)} != set(cache.ids):
        return False
    for old in set(cache.ids) - set(made.ids):
        retire_generations(catalog, old)
    catalog.change("UPDATE generations SET state = 'live', since = ?, bytes = ?, first = ?, last = ? WHERE id = ?",
                   (time(), new.bytes, new.first, new.last, new.id))
    catalog.change("UPDATE slice_caches SET epoch = ?, version = ? WHERE id = ?", (made.epoch, made.version, cache.id))
    for file in files:
        catalog.change("INSERT INTO generation_files VALUES (?, ?, ?, ?)",
                       (new.id, file.path, file.size, file.modified))
    return True


def spans_since(catalog: Catalog, cache: SliceCache, epoch: str, version: int) -> Spans | None:
    """Where the slices start that were added after a version of an epoch; None where nobody knows."""
    if epoch != cache.epoch or version > cache.version:
        return None
    rows = catalog.rows("SELECT spans FROM increments WHERE slice_cache = ? AND version > ? AND version <= ?",
                        (cache.id, version, cache.version))
    if len(rows) != cache.version - version:
        return None
    return join_spans((low, high) for (text,) in rows for low, high in json.loads(text))


def retire_generations(catalog: Catalog, generation: str) -> None:
    """Let a generation count no longer; its folder stays for those who are reading it."""
    catalog.change("UPDATE generations SET state = 'retired', since = ? WHERE id = ?", (time(), generation))


def expired_generations(catalog: Catalog) -> list[str]:
    """The generations whose folders nobody needs any more; caches out of use are dropped first."""
    with catalog.changing():
        unused = catalog.rows("""SELECT g.id FROM generations g JOIN slice_caches s ON s.id = g.slice_cache
                                 WHERE g.state = 'live' AND s.used < ?""", (time() - UNUSED,))
        for (generation,) in unused:
            retire_generations(catalog, generation)
    found = catalog.rows("SELECT id FROM generations WHERE state <> 'live' AND since < ?", (time() - LEASE,))
    return [generation for (generation,) in found]


def forget_generation(catalog: Catalog, generations: Iterable[str]) -> None:
    """Remove the records of generations whose folders are gone, and of caches that are empty and out of use."""
    with catalog.changing():
        for generation in generations:
            catalog.change("DELETE FROM generations WHERE id = ? AND state <> 'live'", (generation,))
        sql = """DELETE FROM slice_caches WHERE used < ?
                 AND NOT EXISTS (SELECT 1 FROM generations WHERE slice_cache = slice_caches.id)"""
        catalog.change(sql, (time() - UNUSED,))


def unfinished_generations(catalog: Catalog, generations: Iterable[str]) -> list[str]:
    """Those of some generations that were begun and do not count."""
    return [name for name in generations
            if catalog.rows("SELECT 1 FROM generations WHERE id = ? AND state = 'writing'", (name,))]


def known_columns(catalog: Catalog) -> set[str]:
    """Every generation there is a record of."""
    return {generation for (generation,) in catalog.rows("SELECT id FROM generations")}
