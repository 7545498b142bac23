"""What people read at the end of a run and of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from weft.io.sinks import Sink

NUMBERS = ("rows", "Spark's rows", "seconds", "cost", "Ω", "ns per slice", "keys", "hours", "slices",
           "rows/s", "lag", "answers", "answers/s", "state", "trigger", "late", "dead",
           "files", "then", "merged MB", "cost/min", "busy", "executed/min", "apart", "missed bounds")
PLURALS = {"query": "queries", "row": "rows", "tree": "trees", "node": "nodes", "file": "files", "answer": "answers",
           "trigger": "triggers", "scan": "scans", "late row": "late rows", "dead letter": "dead letters",
           "run": "runs", "new file": "new files"}


def counted(number: int, noun: str) -> str:
    """A number and its noun: 1 query, 2 queries."""
    return f"{number:,} {noun if number == 1 else PLURALS[noun]}"


def written(report: Sequence[Mapping[str, Any]], sink: Sink, seconds: float) -> Iterator[RenderableType]:
    """A row for each query, then one line on the whole run."""
    with_rows = any(item.get("rows") is not None for item in report)
    table = columns("query", *(["rows"] if with_rows else []), "written to", "seconds")
    for item in report:
        rows = [f"{item['rows']:,}" if item.get("rows") is not None else "–"] if with_rows else []
        table.add_row(item["query"], *rows, near(item.get("path")), f"{item['seconds']:.2f}")
    yield table
    yield f"{counted(len(report), 'query')} in {seconds:.1f} s" + ("" if sink.path else ", results thrown away (noop)")


def read_lines(sources: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each source of an incremental run: how many of its files were read, and why all of them if so."""
    for item in sources:
        told = f"{item['source']}: {item['new_files']:,} of {counted(item['files'], 'file')} read"
        yield f"{told} in {item['seconds']:.1f} s" + (f", anew: {item['anew']}" if item["anew"] else "")


def refreshed_lines(report: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What an incremental run wrote: how many queries had changed, and why some were written whole."""
    parts = [item for item in report if item.get("buckets") is not None]
    if parts:
        changed = [item for item in parts if item["buckets"]]
        buckets = sum(item["buckets"] for item in changed)
        yield f"{counted(len(changed), 'query')} of {len(parts)} changed, in {buckets:,} buckets of time"
    whole: dict[str, list[str]] = {}
    for item in report:
        if item.get("anew"):
            whole.setdefault(item["anew"], []).append(item["query"])
    for why, names in whole.items():
        yield f"{few(names, 3)} written whole: {why}"


def near(path: str | None) -> str:
    """A path as short as it can be from where the user is."""
    if path and Path(path).is_relative_to(Path.cwd()):
        return str(Path(path).relative_to(Path.cwd()))
    return path or "–"


def verdicts(results: Iterable[Any]) -> Table:
    """A row for each query: equal or not, and how many rows each side gave."""
    table = columns("query", "answer", "rows", "Spark's rows", "seconds")
    for item in results:
        answer = Text("equal", style="green") if item.ok else Text("differs", style="red")
        table.add_row(item.query, answer, f"{item.rows:,}", f"{item.native_rows:,}", f"{item.seconds:.2f}")
    return table


def differences(results: Iterable[Any]) -> Iterator[Text]:
    """The first differing rows of every query that differs."""
    for item in results:
        if not item.ok:
            yield Text(f"{item.query}:", style="red")
            yield from (Text(f"  {line}") for line in item.differences)


def few(texts: Sequence[str], most: int, between: str = ", ") -> str:
    """The first texts and how many follow."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return between.join(texts[:most]) + more


def columns(*names: str) -> Table:
    """An empty table; numbers stand on the right."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in names:
        table.add_column(name, justify="right" if name in NUMBERS else "left", overflow="fold")
    return table
