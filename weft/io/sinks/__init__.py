"""Sinks: where answers go. To add one: one file and one line; from outside, an `AnswerSink` of your own.

In: what a user gave `loom.run` or `loom.start`. Out: a sink whose facts say what it can do, to be guarded and written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weft.errors import RunError
from weft.io.answer_sink import Answers, AnswerSink, Columns, NamedSink, SinkFacts
from weft.io.formats import absolute, find_member, list_members
from weft.io.sinks.callback import CallbackSink, ConsoleSink, Receiver, console, function
from weft.io.sinks.files import FILES, FolderSink
from weft.io.sinks.kafka import kafka
from weft.io.sinks.memory import MemorySink, memory
from weft.io.sinks.noop import NoopSink, noop

SINKS: tuple[NamedSink, ...] = (*FILES, noop, console, memory, kafka, function)
# Those whose name says all; any other text is a folder.
ALONE = (noop, console, memory)
# Those that a run writes to and the command line spells.
WRITABLE = tuple(member for member in SINKS if member.facts.batch)


@dataclass(frozen=True)
class Sink:
    """A sink by its name in SINKS, and its folder where it needs one."""

    format: str
    path: str | None = None


# All that a caller may pass.
Spelled = str | Mapping[str, str] | Sink | AnswerSink | Receiver


def parse_sink(text: str, base: Sink) -> Sink:
    """The sink that `noop`, `FORMAT`, `FORMAT:PATH` or `PATH` names; `base` gives what the text leaves out."""
    head, colon, rest = text.partition(":")
    chosen = find_member(head, WRITABLE)
    if chosen is None or rest.startswith("//"):
        return make_sink(base.format if base.path is not None else "parquet", text)
    return make_sink(chosen.facts.name, rest if colon else base.path)


def make_sink(format: str, path: str | None) -> Sink:
    """A sink whose format exists and that has a folder wherever it needs one, seen from the root."""
    facts = require_named(format, WRITABLE).facts
    if not facts.needs_path:
        return Sink(facts.name)
    if not path:
        raise RunError(f"the {facts.name} sink needs a folder: write {facts.name}:PATH.")
    return Sink(facts.name, absolute(path))


def require_named(name: str, members: tuple[NamedSink, ...]) -> NamedSink:
    """The sink of that name."""
    found = find_member(name, members)
    if found is None:
        raise RunError(f"unknown format '{name}': write {list_members(members)}.")
    return found


def stream_sink(sink: Spelled) -> AnswerSink:
    """The sink of a stream that the caller spelled."""
    found = open_sink(sink)
    if not found.facts.streams:
        raise RunError(f"the {found.facts.name} sink takes no stream: write to a folder, or use loom.run.")
    return found


def batch_sink(sink: Spelled) -> AnswerSink:
    """The sink of a run that the caller spelled."""
    found = open_sink(sink)
    if not found.facts.batch:
        raise RunError(f"the {found.facts.name} sink takes the answers of streams only: write to a folder, or run "
                       "without a sink and read the DataFrames of the results.")
    return found


def open_sink(sink: Spelled) -> AnswerSink:
    """What a caller passed as a sink: one that is ready, a name, a folder for Parquet, a mapping, or a function."""
    if isinstance(sink, AnswerSink):
        return sink
    if isinstance(sink, Sink):
        return open_named({"format": sink.format, **({"path": sink.path} if sink.path else {})})
    if isinstance(sink, str):
        alone = find_member(sink, ALONE) is not None
        return open_named({"format": sink} if alone else {"format": "parquet", "path": sink})
    if isinstance(sink, Mapping):
        return open_named({"format": "parquet", **sink})
    if callable(sink):
        return CallbackSink(sink)
    raise RunError(f"a sink cannot be a {type(sink).__name__}: give a folder, a name, a function, or a class derived "
                   "from AnswerSink.")


def open_named(said: Mapping[str, str]) -> AnswerSink:
    """The sink that a mapping names as its `format`."""
    members = tuple(member for member in SINKS if member.open)
    chosen = require_named(said["format"], members)
    assert chosen.open is not None
    return chosen.open(said)


__all__ = ["SINKS", "WRITABLE", "AnswerSink", "Answers", "CallbackSink", "Columns", "ConsoleSink", "FolderSink",
           "MemorySink", "NamedSink", "NoopSink", "Receiver", "Sink", "SinkFacts", "batch_sink", "console", "make_sink",
           "open_sink", "parse_sink", "stream_sink"]
