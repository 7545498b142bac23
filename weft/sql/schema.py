"""What the SQL reader knows of a source: its name, its columns and their types, its event time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class SourceSchema:
    """A registered source: columns as (name, Spark simpleString type) and the declared event time, if any."""

    name: str
    columns: tuple[tuple[str, str], ...]
    time: str | None

    @cached_property
    def spelling(self) -> dict[str, str]:
        """Each column's own spelling by its lower-case name: Spark's names ignore case."""
        return {name.lower(): name for name, _ in self.columns}

    @cached_property
    def types(self) -> dict[str, str]:
        """Each column's type by its lower-case name."""
        return {name.lower(): kind for name, kind in self.columns}


def spell_fields(kind: str, fields: list[str]) -> list[str]:
    """The struct fields of a path as the type spells them; a field the type does not name stays as written."""
    spelled = []
    for field in fields:
        known = {name.lower(): (name, kind) for name, kind in struct_fields(kind)}
        name, kind = known.get(field.lower(), (field, ""))
        spelled.append(name)
    return spelled


def struct_fields(kind: str) -> Iterator[tuple[str, str]]:
    """The (name, type) pairs of `struct<a:int,b:struct<c:int>>`; none for any other type."""
    if not (kind.startswith("struct<") and kind.endswith(">")):
        return
    for part in split_top(kind[len("struct<") : -1]):
        name, _, inner = part.partition(":")
        yield name.strip("`"), inner


def split_top(body: str) -> Iterator[str]:
    """The parts of `a:int,b:map<int,int>` between the commas outside all brackets."""
    depth = start = 0
    for i, char in enumerate(body):
        depth += (char in "<(") - (char in ">)")
        if char == "," and not depth:
            yield body[start:i]
            start = i + 1
    if body:
        yield body[start:]
