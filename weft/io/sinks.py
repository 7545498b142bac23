"""Sinks: the names a run can write to, as the user spells them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weft.errors import RunError
from weft.io.formats import NOOP, SHOWN, WRITABLE, Format, absolute, find_format, list_formats

# What a sink writes must read back as it was: a CSV source expects a line of names.
WRITE_OPTIONS = {"csv": {"header": "true"}}


@dataclass(frozen=True)
class Sink:
    """Where results go: a format and a folder, or nowhere for `noop`."""

    format: str
    path: str | None = None


def parse_sink(text: str, base: Sink) -> Sink:
    """The sink that `noop`, `FORMAT`, `FORMAT:PATH` or `PATH` names; `base` gives what the text leaves out."""
    head, colon, rest = text.partition(":")
    chosen = find_format(head, WRITABLE)
    if chosen is None or rest.startswith("//"):
        return make_sink(base.format if base.format != NOOP.name else "parquet", text)
    return make_sink(chosen.name, rest if colon else base.path)


def make_sink(format: str, path: str | None) -> Sink:
    """A sink whose format exists and that has a folder wherever it needs one, seen from the root."""
    chosen = named_format(format)
    if chosen is NOOP:
        return Sink(NOOP.name)
    if not path:
        raise RunError(f"the {chosen.name} sink needs a folder: write {chosen.name}:PATH.")
    return Sink(chosen.name, absolute(path))


def named_format(name: str) -> Format:
    """The writable format of that name."""
    chosen = find_format(name, WRITABLE)
    if chosen is None:
        raise RunError(f"unknown format '{name}': write {list_formats(WRITABLE)}.")
    return chosen


def stream_sink(sink: str | Mapping[str, str] | Sink) -> Sink:
    """The sink of a stream that the caller spelled: also "console" and "memory", which need no folder."""
    if isinstance(sink, Sink):
        return sink if find_format(sink.format, SHOWN) else make_sink(sink.format, sink.path)
    if isinstance(sink, str):
        shown = find_format(sink, (*SHOWN, NOOP))
        return Sink(shown.name) if shown else make_sink("parquet", sink)
    shown = find_format(sink.get("format", ""), SHOWN)
    return Sink(shown.name) if shown else make_sink(sink.get("format", "parquet"), sink.get("path"))


def batch_sink(sink: str | Mapping[str, str] | Sink) -> Sink:
    """The sink of a run that the caller spelled."""
    if isinstance(sink, Sink):
        return make_sink(sink.format, sink.path)
    if isinstance(sink, str):
        return make_sink("noop", None) if sink == "noop" else make_sink("parquet", sink)
    return make_sink(sink.get("format", "parquet"), sink.get("path"))
