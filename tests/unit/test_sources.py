"""The sources of a loom without Spark: which rows a join has when its inputs read other files."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from weft.errors import SourceError
from weft.loom.sources import Source, Sources
from weft.model.join import Join, JoinInput, JoinKey, TimeBound

JOIN = Join((JoinInput("a", "a", "ts", (("ts", "a.ts"), ("k", "a.k"))),
             JoinInput("b", "b", "ts", (("ts", "b.ts"), ("k", "b.k")))), (JoinKey(0, 1, "`a.k`", "`b.k`"),),
            (TimeBound(0, 1, 5), TimeBound(1, 0, 5)))


class Folders(Sources):
    """Sources of which `there` says how many files each folder has; the rows of a join are those of its inputs."""

    def __init__(self, monkeypatch):
        super().__init__(None, SimpleNamespace(show=lambda *_: None, register=lambda *_: None))
        monkeypatch.setattr("weft.loom.sources.join_rows", lambda join, frames, _: {n: frames[n] for n in join.sources})
        monkeypatch.setattr(self._listings, "refresh", self._list)
        self.there = {"a": 1, "b": 1}
        for name in self.there:
            self._known[name], self.frames[name] = Source(name, None, None, None), [1]
        self.derive(JOIN, None)

    def _list(self, names):
        for name in names:
            if not self.there[name]:
                raise SourceError("cannot be read")
            if self.frames[name] != [self.there[name]]:
                self.frames[name] = [self.there[name]]


@pytest.fixture
def sources(monkeypatch):
    """A join of two folders with one file each."""
    return Folders(monkeypatch)


def test_a_join_reads_what_another_refresh_of_its_input_found(sources):
    """It was made of the old list, whoever listed the files anew meanwhile."""
    sources.there["a"] = 2
    sources.refresh(["a"])
    assert sources.frames[JOIN.name] == {"a": [1], "b": [1]}
    sources.refresh([JOIN.name])
    assert sources.frames[JOIN.name] == {"a": [2], "b": [1]}


def test_a_refresh_that_fails_halfway_is_made_up_for(sources):
    """Inputs that were listed before the error count in the next one."""
    sources.there |= {"a": 2, "b": 0}
    with pytest.raises(SourceError):
        sources.refresh([JOIN.name])
    sources.there["b"] = 1
    sources.refresh([JOIN.name])
    assert sources.frames[JOIN.name] == {"a": [2], "b": [1]}


def test_a_join_of_the_same_rows_stays_as_it_is(sources):
    """So do slices that are kept of it."""
    before = sources.frames[JOIN.name]
    sources.refresh([JOIN.name, "a"])
    assert sources.frames[JOIN.name] is before
