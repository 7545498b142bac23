"""Names in a query that joins sources: which input a column is of, and what it is called in the join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from weft.sql.join_windows import JoinWindow
from weft.sql.qualify import AMBIGUOUS, TWINS, in_aggregate, is_unit
from weft.sql.render import identifier
from weft.sql.schema import SourceSchema
from weft.sql.text import Text

PARTS = ("this", "table", "db", "catalog")


@dataclass(frozen=True)
class JoinedTable:
    """A table of FROM: what the user calls it, the source that it names, and its join window, if any."""

    table: exp.Table
    alias: str
    schema: SourceSchema
    window: JoinWindow | None = None

    @property
    def time(self) -> str | None:
        """Its event time in the source's own spelling."""
        return self.schema.called(self.schema.time)[0] if self.schema.time else None


@dataclass(frozen=True)
class ColumnUse:
    """A place where a column of an input is named; its identifier is given the name that the column has in the join."""

    name: exp.Identifier
    table: int
    column: str


@dataclass
class JoinNames:
    """The tables of a query, and every use of their columns; `shared` are columns of USING: those of the left table."""

    text: Text
    tables: Sequence[JoinedTable]
    shared: Mapping[str, int]
    uses: list[ColumnUse] = field(default_factory=list)

    def resolve(self, root: exp.Expr, aliases: Mapping[str, exp.Expr] | None = None) -> exp.Expr:
        """The expression with a node of its own for every column of an input; other names stay as they are.

        In HAVING `aliases` are what the outputs are called: a name that could mean either is refused.
        """
        kept = exp.Paren(this=root)
        for column in list(kept.find_all(exp.Column)):
            if isinstance(column.this, exp.Star) or is_unit(column):
                continue
            found = self._find(column)
            if found is not None:
                self._require_clear(column, found[2], aliases)
                column.replace(self._use(column, *found))
        return kept.this.pop()

    def used_in(self, node: exp.Expr) -> set[int]:
        """The tables whose columns an expression names."""
        inside = {id(part) for part in node.find_all(exp.Identifier)}
        return {use.table for use in self.uses if id(use.name) in inside}

    def time_of(self, node: exp.Expr) -> int | None:
        """The table whose event time a node is."""
        if not isinstance(node, exp.Column) or len(node.parts) != 1:
            return None
        use = next((use for use in self.uses if use.name is node.this), None)
        return use.table if use and use.column == self.tables[use.table].time else None

    def _find(self, column: exp.Column) -> tuple[int, str, int] | None:
        """The table and the column that a name means, and how many of its parts the column's name ends at."""
        parts = [part.name for part in column.parts]
        for number, table in enumerate(self.tables) if len(parts) > 1 else ():
            if table.schema.fold(parts[0]) == table.schema.fold(table.alias):
                return number, self._own(column, table, parts[1]), 2
        having = [n for n, table in enumerate(self.tables) if table.schema.fold(parts[0]) in table.schema.spelling]
        if not having:
            return None
        number = having[0]
        if len(having) > 1:
            shared = self.shared.get(self.tables[number].schema.fold(parts[0]))
            if shared is None:
                raise self._ambiguous(column, parts[0], having)
            number = shared
        return number, self._own(column, self.tables[number], parts[0]), 1

    def _own(self, column: exp.Column, table: JoinedTable, name: str) -> str:
        """The column in the source's own spelling."""
        found = table.schema.called(name)
        if not found:
            raise self.text.wrong(column, f"source '{table.schema.name}' has no column '{name}'.",
                                  f"It has: {', '.join(table.schema.spelling.values())}.")
        if len(found) > 1:
            raise self.text.wrong(column, f"'{name}' could be any of the columns {', '.join(found)}.", TWINS)
        return found[0]

    def _ambiguous(self, column: exp.Column, name: str, having: Sequence[int]) -> Exception:
        names = [self.tables[number].alias for number in having]
        return self.text.wrong(column, f"'{name}' is a column of {' and of '.join(names)}.",
                               f"Write {' or '.join(f'{each}.{name}' for each in names)}.")

    def _require_clear(self, column: exp.Column, ends: int, aliases: Mapping[str, exp.Expr] | None) -> None:
        """The error where a bare name is also that of an output, in HAVING, or of the window."""
        fold, name = self.tables[0].schema.fold, column.parts[0].name
        if ends > 1:
            return
        if aliases is not None and fold(name) in aliases and not in_aggregate(self.text, column):
            raise self.text.refused(column, f"'{name}' in HAVING is both a column of a source and an alias.", AMBIGUOUS)
        if fold(name) == "window":
            raise self.text.refused(column, f"'{name}' is both a column of a source and the window.",
                                    "Qualify the column with the source's name, or rename it in the source.")

    def _use(self, column: exp.Column, number: int, own: str, ends: int) -> exp.Column:
        """A column node whose first part is named later; fields of a struct follow it."""
        name = identifier(own).update_positions(column.parts[0])
        self.uses.append(ColumnUse(name, number, own))
        parts = [name, *(part.copy() for part in column.parts[ends:])]
        return exp.Column(**dict(zip(PARTS, reversed(parts), strict=False)))

    def name_all(self, names: Sequence[Mapping[str, str]]) -> None:
        """Give every use the name of its column in the join, by the number of its table."""
        for use in self.uses:
            use.name.set("this", names[use.table][use.column])
            use.name.set("quoted", True)
