"""What the SQL reader knows of a source: its name, its columns and their types, its event time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class SourceSchema:
    """A registered source: columns as (name, Spark simpleString type), the declared event time, if any, and whether
    names that differ in case only are two names, as `spark.sql.caseSensitive` says."""

    name: str
    columns: tuple[tuple[str, str], ...]
    time: str | None
    case_sensitive: bool = False

    def fold(self, name: str) -> str:
        """The text that equal names share."""
        return name if self.case_sensitive else name.lower()

    @cached_property
    def spelling(self) -> dict[str, str]:
        """Each column's own spelling by its folded name."""
        return {self.fold(name): name for name, _ in self.columns}

    @cached_property
    def types(self) -> dict[str, str]:
        """Each column's type by its own spelling."""
        return dict(self.columns)

    def called(self, name: str) -> list[str]:
        """The columns that a name could mean; to Spark more than one are ambiguous."""
        return [column for column, _ in self.columns if self.fold(column) == self.fold(name)]

    def spell_fields(self, kind: str, fields: list[str]) -> list[str]:
        """The struct fields of a path as the type spells them; a field the type does not name stays as written."""
        spelled = []
        for field in fields:
            known = {self.fold(name): (name, kind) for name, kind in struct_fields(kind)}
            name, kind = known.get(self.fold(field), (field, ""))
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
