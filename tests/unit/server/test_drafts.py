"""Drafts: what is only checked comes to the loom for a moment, and to nobody's eyes."""

from __future__ import annotations

import pytest

from weft.server.drafts import Drafts


class MemoryLoom(dict[str, str]):
    """A loom that keeps texts."""

    def query(self, name: str, sql: str, replace: bool = False) -> None:
        assert replace == (name in self)
        self[name] = sql

    def drop(self, name: str) -> None:
        del self[name]


@pytest.mark.parametrize("name", ["mean", "new"])
def test_a_query_that_is_checked_is_not_among_those_of_the_project(name: str) -> None:
    kept = {"mean": "SELECT mean"}
    drafts = Drafts(loom := MemoryLoom(kept), kept, {}, lambda name: {})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a check"), drafts.with_query(name, "SELECT other"):
        assert loom == {**kept, name: "SELECT other"} and drafts.texts == kept
        raise ValueError("a check that fails.")
    assert loom == drafts.texts == kept
    drafts.add(name, "SELECT other")
    assert loom == drafts.texts == {**kept, name: "SELECT other"}
