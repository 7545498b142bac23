"""The [stream] table of weft.toml, and what the command line puts in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from weft.cli.toml import FILE
from weft.errors import ProjectError
from weft.io.formats import absolute, find_member, is_remote, locate
from weft.io.sinks import WRITABLE, Sink, console, parse_sink

CHECKPOINT = ".weft/checkpoint"
# Not the folder of `weft run`, which puts a query's folder in place whole and would take a stream's answers away.
SINK = "out-stream"
# The trigger that reads what is there and ends.
AVAILABLE = "available"
PORTS = range(65536)
Place = Callable[[str], str]


@dataclass(frozen=True)
class StreamTable:
    """What is said of a stream; None where nothing is, "" for `max_clock_skew` where any clock is believed."""

    checkpoint: str | None = None
    sink: str | None = None
    trigger: str | None = None
    max_clock_skew: str | None = None
    dead_letters: str | None = None
    metrics_port: int | None = None
    metrics_host: str | None = None
    drift_tolerance: float | None = None


def build_stream(folder: Path, table: Mapping[str, Any]) -> StreamTable:
    """The table with its local paths made absolute."""
    found = StreamTable(**table)
    port = found.metrics_port
    if port is not None and (isinstance(port, bool) or port not in PORTS):
        raise ProjectError(f"{FILE}: stream.metrics_port must be a whole number from 0 to 65535.")
    if found.drift_tolerance is not None and not found.drift_tolerance >= 0:
        raise ProjectError(f"{FILE}: stream.drift_tolerance must be a number that is not below 0, such as 0.25, or inf "
                           "for a stream that is never woven anew by itself.")
    for name in ("checkpoint", "sink", "trigger", "dead_letters"):
        if getattr(found, name) == "":
            raise ProjectError(f"{FILE}: stream.{name} is empty: give it a value, or leave it out.")
    return placed(found, lambda path: locate(folder, path))


def placed(table: StreamTable, place: Place) -> StreamTable:
    """The table with each of its paths put in place."""
    return replace(
        table,
        checkpoint=place(table.checkpoint) if table.checkpoint else table.checkpoint,
        dead_letters=place(table.dead_letters) if table.dead_letters else table.dead_letters,
        sink=placed_sink(table.sink, place) if table.sink else table.sink,
    )


def placed_sink(text: str, place: Place) -> str:
    """The sink as spelled, `console`, `FORMAT`, `FORMAT:PATH` or `PATH`, with its path put in place."""
    head, _, rest = text.partition(":")
    if find_member(text, (console, *WRITABLE)) is not None:
        return text
    if find_member(head, WRITABLE) is None or rest.startswith("//"):
        return place(text)
    return f"{head}:{place(rest)}"


def chosen_table(table: StreamTable, asked: StreamTable) -> StreamTable:
    """The project's table, and in it whatever the command line says; paths there are seen from where the user is."""
    given = placed(asked, lambda path: path if is_remote(path) else absolute(path))
    said = {item.name: value for item in fields(given) if (value := getattr(given, item.name)) is not None}
    return replace(table, **said)


def sink_for(folder: Path, sink: Sink, text: str | None) -> Sink:
    """Where a stream's answers go; what its spelling leaves out is the project's format, and a folder of its own."""
    if text and find_member(text, (console,)):
        return Sink(console.facts.name)
    format = sink.format if sink.path is not None else "parquet"
    base = Sink(format, locate(folder, SINK))
    return parse_sink(text, base) if text else base
