"""The demo's shipped queries: one SQL file each, whose first line says what it is for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Shipped:
    """A query of the demo."""

    name: str
    words: str
    sql: str


def shipped() -> tuple[Shipped, ...]:
    """Every shipped query, in order of name; numbers in names count as numbers."""
    folder = files("examples.demo") / "queries"
    found = [read(entry.name.removesuffix(".sql"), entry.read_text(encoding="utf-8"))
             for entry in folder.iterdir() if entry.name.endswith(".sql")]
    return tuple(sorted(found, key=lambda query: natural(query.name)))


def read(name: str, text: str) -> Shipped:
    """The query of one file, its first comment taken as its description."""
    first, _, rest = text.partition("\n")
    if not first.startswith("-- "):
        raise ValueError(f"{name}.sql must begin with a comment that says what the query is for")
    return Shipped(name, first.removeprefix("-- ").strip(), rest.strip())


def natural(name: str) -> list[tuple[str, int]]:
    """A sort key under which 5m comes before 15m."""
    return [(word, int(number or 0)) for word, number in re.findall(r"(\D+)(\d*)", name)]
