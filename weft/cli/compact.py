"""`weft compact`: merges the small files of a stream's sink, and says what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType

from weft.cli.output import CommandOutput
from weft.cli.tables import columns, counted

if TYPE_CHECKING:
    from weft.spark.compact.run import Compacted


def compact(output: CommandOutput, sink: str, queries: Sequence[str], older: str | None, target_size: str,
            dry_run: bool) -> None:
    """Compacts a sink, or says what that would do."""
    # Spark takes a second to import: what needs no Spark must not wait for it.
    from weft.spark.compact.run import compact as compact_sink

    with output.progress("compacting"):
        found = compact_sink(sink, queries or None, older, target_size, dry_run)
    data = {"ok": True, "sink": sink, "dry_run": dry_run, "queries": [one.to_dict() for one in found]}
    output.show(data, *pages(found, dry_run))


def pages(found: Sequence[Compacted], dry_run: bool) -> list[RenderableType]:
    """A row for each query that has something to merge, then a line on the whole."""
    table = columns("query", "files", "then", "merged MB")
    for one in found:
        if one.merged_files:
            table.add_row(one.query, f"{one.files_before:,}", f"{one.files_after:,}",
                          f"{one.merged_bytes / (1 << 20):,.2f}")
    merged = sum(one.merged_files for one in found)
    into = sum(one.files_after - (one.files_before - one.merged_files) for one in found)
    verb = "would become" if dry_run else "became"
    line = f"{counted(merged, 'file')} {verb} {into:,}." if merged else "Nothing to merge."
    return [table, line] if merged else [line]
