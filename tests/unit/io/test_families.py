"""The families of sources and sinks: what a member can do is data, and the page shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.errors import RunError, SourceError
from weft.io.answer_sink import AnswerSink
from weft.io.formats import find_member
from weft.io.row_source import RowSource
from weft.io.sinks import SINKS, FolderSink, NoopSink, Sink, batch_sink, stream_sink
from weft.io.sources import SOURCES, spell_source

PAGE = (Path(__file__).parents[3] / "docs" / "sources-and-sinks.md").read_text()


def row(name: str, *facts: bool) -> str:
    """A member's row of a table."""
    return f"| `{name}` | {' | '.join('yes' if fact else 'no' for fact in facts)} |"


def test_the_page_shows_the_facts():
    for facts in (member.facts for member in SOURCES):
        assert row(facts.name, facts.batch, facts.streams, facts.exactly_once, facts.files, facts.needs_schema) in PAGE
    for facts in (member.facts for member in SINKS):
        assert row(facts.name, facts.batch, facts.streams, facts.exactly_once, facts.over_connect, facts.observable,
                   facts.needs_path) in PAGE


@pytest.mark.parametrize("member", SOURCES, ids=lambda m: m.facts.name)
def test_a_source_is_made_by_its_name_with_its_facts(member, tmp_path):
    place, options = (str(tmp_path), {}) if member.facts.files else ("a:1", {"servers": "b:9092"})
    found = spell_source("t", place, member.facts.name.upper(), options, "x int")
    assert isinstance(found, RowSource) and found.facts == member.facts
    assert found.input_path() == (str(tmp_path) if member.facts.files else None)
    if member.facts.needs_schema:
        with pytest.raises(SourceError, match="source 't' needs a schema"):
            spell_source("t", place, member.facts.name, options, None)


@pytest.mark.parametrize("member", [m for m in SINKS if m.open], ids=lambda m: m.facts.name)
def test_a_sink_is_made_by_its_name_with_its_facts(member):
    said = {"format": member.facts.name, "path": "/out", "servers": "b:9092", "topic": "t"}
    found = stream_sink(said)
    assert isinstance(found, AnswerSink) and found.facts == member.facts
    assert found.output_path("q") == ("/out/q" if member.facts.needs_path else None)
    if not member.facts.batch:
        with pytest.raises(RunError, match=f"the {member.facts.name} sink takes the answers of streams only"):
            batch_sink(said)


def test_how_callers_spell_sinks():
    assert batch_sink("noop") == batch_sink(Sink("noop")) == NoopSink()
    assert batch_sink("/a/memory") == batch_sink({"path": "/a/memory"}) == FolderSink("parquet", "/a/memory")
    assert stream_sink(print).facts is find_member("function", SINKS).facts
    with pytest.raises(RunError, match="the kafka sink needs 'topic'"):
        stream_sink({"format": "kafka", "servers": "b:9092"})
    with pytest.raises(RunError, match="unknown format 'function'"):
        stream_sink({"format": "function"})


def test_who_says_no_facts_is_told():
    with pytest.raises(SourceError, match="RowSource says nothing of what it can do: write facts = SourceFacts"):
        _ = RowSource().facts
    with pytest.raises(RunError, match="AnswerSink says nothing of what it can do: write facts = SinkFacts"):
        batch_sink(AnswerSink())
