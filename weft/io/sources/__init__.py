"""Sources: where rows come from. To add one: one file and one line; from outside, a `RowSource` of your own.

In: what a user gave `loom.source`. Out: rows to check queries against, and what reads them as a stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from weft.errors import SourceError
from weft.io.formats import find_member
from weft.io.row_source import NamedSource, RowSource, SourceFacts, Spelling
from weft.io.sources.files import FILES, Files, locate_files
from weft.io.sources.kafka import kafka
from weft.io.sources.rate import rate
from weft.io.sources.socket import socket

SOURCES: tuple[NamedSource, ...] = (*FILES, kafka, rate, socket)


def spell_source(name: str, data: Any, format: str | None, options: Mapping[str, str] | None,
                 schema: str | None) -> Any:
    """The source that a path, topic or host names; whatever is no text is one already."""
    if not isinstance(data, str | PathLike):
        return data
    member = find_member(format, SOURCES) if format else None
    if member is None:
        return locate_files(str(data), format, options, schema is not None)
    if member.facts.needs_schema and not schema:
        raise SourceError(f"source '{name}' needs a schema: write schema = 'ts timestamp, price double'.")
    return member.open(Spelling(name, str(data), dict(options or {}), schema))


__all__ = ["SOURCES", "Files", "NamedSource", "RowSource", "SourceFacts", "Spelling", "locate_files", "spell_source"]
