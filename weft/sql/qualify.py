"""Names made plain: every column in the source's own spelling, every alias replaced by what it stands for."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches

from sqlglot import exp

from weft.model.query import WINDOW
from weft.model.window import Window
from weft.sql.functions import CHANGING, UNIT_FIRST
from weft.sql.refuse import refuse_function
from weft.sql.render import identifier, sql
from weft.sql.schema import SourceSchema
from weft.sql.spellings import FLINK, Spelled
from weft.sql.text import Text
from weft.sql.windows import read_window

FIELDS = ("start", "end")
ROWS, KEYS, SELECT, HAVING = "WHERE", "GROUP BY", "SELECT", "HAVING"
TWINS = "Rename them in the source, or set spark.sql.caseSensitive to true if they differ in case only."
AMBIGUOUS = "Give the alias a name that is no column of the source."


@dataclass
class Scope:
    """What names mean in one query: the source's columns, the window and the aliases seen so far."""

    text: Text
    schema: SourceSchema
    qualifier: str
    spelled: Spelled | None
    aliases: dict[str, list[exp.Expr]] = field(default_factory=dict)
    window: tuple[str, Window] | None = None
    window_at: exp.Expr | None = None
    lateral: bool = False  # whether an output reads the alias of one before it

    def resolve(self, node: exp.Expr, clause: str) -> exp.Expr:
        """The expression with plain names; the window in it is the column `__window`."""
        root = exp.Paren(this=node)  # a parent, so that the whole expression can be replaced as well
        parts = list(root.walk(bfs=False, prune=_is_window_call))
        for part in parts:
            if isinstance(part, exp.Anonymous):
                self._function(part, clause)
            elif isinstance(part, exp.Column) and not isinstance(part.this, exp.Star):
                part.replace(exp.Var(this=part.name.upper()) if is_unit(part) else self._column(part, clause))
        for part in parts:
            if isinstance(part, exp.Dot):
                self._field(part)
        return root.this.pop()

    def _function(self, call: exp.Anonymous, clause: str) -> None:
        name = call.name.lower()
        if name == "window":
            call.replace(self._window(call, clause))
            return
        call.set("this", name)

    def _window(self, call: exp.Anonymous, clause: str) -> exp.Expr:
        """The column `__window` for a window() call, which must be the same window everywhere in the query."""
        if clause == ROWS or in_aggregate(self.text, call):
            raise self._rows_only(call)
        window = read_window(self.text, call)
        if self.spelled:
            raise self.text.refused(call, "the query has more than one window.", "Keep the window in FROM only.")
        time = sql(self.resolve(call.expressions[0].copy(), ROWS))
        if self.window not in (None, (time, window)):
            raise self.text.refused(call, "the query has more than one window.", "Write one query for each window.")
        self.window, self.window_at = (time, window), call
        return _marker(call)

    def _column(self, column: exp.Column, clause: str) -> exp.Expr:
        """What a column name means, tried in Spark's order: the source, the window, the aliases."""
        parts = [part.name for part in column.parts]
        head = self.schema.fold(parts[0])
        own = self._own(column, parts)
        alias = None if clause == ROWS or in_aggregate(self.text, column) else self.aliases.get(head)
        if own is not None:
            self._unambiguous(column, own, alias, clause)
            return own
        if self._names_window(head):
            return self._window_name(column, parts, alias, clause)
        if alias:
            self.lateral = self.lateral or clause == SELECT
            return self._alias(column, parts, alias)
        raise self._unknown(column, parts)

    def _own(self, column: exp.Column, parts: list[str]) -> exp.Expr | None:
        """The source's column, or None; a qualifier wins over a struct of the same name, as in Spark."""
        fold, columns = self.schema.fold, self.schema.spelling
        if len(parts) > 1 and fold(parts[0]) == self.qualifier and fold(parts[1]) in columns:
            parts = parts[1:]
        if fold(parts[0]) not in columns:
            return None
        if len(found := self.schema.called(parts[0])) > 1:
            raise self.text.wrong(column, f"'{parts[0]}' could be any of the columns {', '.join(found)}.", TWINS)
        return _path(column, found[0], self.schema.spell_fields(self.schema.types[found[0]], parts[1:]))

    def _unambiguous(self, column: exp.Column, own: exp.Expr, alias: list[exp.Expr] | None, clause: str) -> None:
        """The error where a HAVING name or `window` could mean two things."""
        bare = len(column.parts) == 1 or self.schema.fold(column.parts[0].name) != self.qualifier
        if clause == HAVING and bare and alias and any(item != own for item in alias):
            raise self.text.refused(
                column, f"'{column.parts[0].name}' in HAVING is both a column of the source and an alias.", AMBIGUOUS
            )
        if clause != ROWS and bare and self._names_window(self.schema.fold(column.parts[0].name)):
            raise self.text.refused(
                column,
                f"'{column.parts[0].name}' is both a column of the source and the window.",
                "Qualify the column with the source's name, or rename it in the source.",
            )

    def names_field(self, item: exp.Expr) -> bool:
        """Whether the item is Flink's window_start or window_end, which keep their names in the result."""
        flink = self.spelled is not None and self.spelled.style == FLINK
        return flink and isinstance(item, exp.Column) and self._names_window(self.schema.fold(item.name))

    def _names_window(self, head: str) -> bool:
        if self.spelled and self.spelled.style == FLINK:
            return head in ("window_start", "window_end", "window_time")
        return head == "window"

    def _window_name(self, column: exp.Column, parts: list[str], alias: list[exp.Expr] | None, clause: str) -> exp.Expr:
        """`window`, `window.start` or Flink's `window_start` as a path from `__window`."""
        if clause == ROWS or in_aggregate(self.text, column):
            raise self._rows_only(column)
        head, *rest = (self.schema.fold(part) for part in parts)
        if alias and any(sql(item) != WINDOW for item in alias) and head == "window":
            raise self.text.refused(column, "'window' is both the window and an alias.", "Choose another alias.")
        if head == "window_time":
            raise self.text.refused(column, "Weft does not run window_time.", "Use window_end.")
        fields = [head.removeprefix("window_")] if head != "window" else rest
        if fields and fields[0] not in FIELDS:
            raise self._no_field(column, fields[0])
        return _path(column, WINDOW, fields)

    def _alias(self, column: exp.Column, parts: list[str], items: list[exp.Expr]) -> exp.Expr:
        """A copy of what the alias stands for, in parentheses where it is more than a name or a call."""
        if len(items) > 1:
            raise self.text.wrong(column, f"the alias '{parts[0]}' stands for {len(items)} columns.", AMBIGUOUS)
        item = items[0].copy()
        plain = isinstance(item, exp.Column | exp.Dot | exp.Anonymous | exp.Literal | exp.Paren)
        node: exp.Expr = item if plain else exp.Paren(this=item)
        for name in parts[1:]:
            node = exp.Dot(this=node, expression=identifier(name))
            self._field(node)
        return node

    def _unknown(self, column: exp.Column, parts: list[str]) -> Exception:
        name = ".".join(parts)
        if len(parts) == 1 and parts[0].lower() in CHANGING:
            refuse_function(self.text, exp.Anonymous(this=parts[0]).update_positions(column.this))
        if len(parts) > 1 and self.schema.fold(parts[0]) == self.qualifier:
            parts = parts[1:]
        names = [*self.schema.spelling.values(), *self.aliases]
        near = get_close_matches(parts[0], names, 1, 0.5) or get_close_matches(parts[0].lower(), names, 1, 0.5)
        hint = f"Did you mean '{near[0]}'?" if near else f"It has: {', '.join(self.schema.spelling.values())}."
        return self.text.wrong(column, f"source '{self.schema.name}' has no column '{name}'.", hint)

    def _field(self, dot: exp.Expr) -> None:
        """The window's fields as Spark names them, and no others."""
        if not (isinstance(dot, exp.Dot) and isinstance(dot.this, exp.Column) and dot.this.name == WINDOW):
            return
        name = self.schema.fold(dot.expression.name)
        if name not in FIELDS:
            raise self._no_field(dot, name)
        dot.expression.replace(exp.Identifier(this=name))

    def _no_field(self, node: exp.Expr, name: str) -> Exception:
        return self.text.wrong(node, f"the window has no field '{name}'.", "It has start and end.")

    def _rows_only(self, node: exp.Expr) -> Exception:
        return self.text.refused(
            node,
            "WHERE and the inside of an aggregate see rows, not windows.",
            "Use the window in SELECT or HAVING, or use the time column here.",
        )


def is_unit(column: exp.Column) -> bool:
    """Whether the name is the unit of date_add(DAY, 1, ts) or its kin."""
    call = column.parent
    return (
        isinstance(call, exp.Anonymous)
        and call.name.lower() in UNIT_FIRST
        and len(call.expressions) == 3
        and call.expressions[0] is column
    )


def _is_window_call(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() == "window"


def in_aggregate(text: Text, node: exp.Expr) -> bool:
    parent = node.parent
    while parent is not None:
        if isinstance(parent, exp.Anonymous) and text.aggregate(parent.name):
            return True
        if isinstance(parent, exp.Filter):
            return True
        parent = parent.parent
    return False


def _marker(at: exp.Expr) -> exp.Column:
    return exp.Column(this=identifier(WINDOW).update_positions(at))


def _path(at: exp.Column, name: str, fields: list[str]) -> exp.Expr:
    node: exp.Expr = exp.Column(this=identifier(name).update_positions(at.parts[0]))
    for part in fields:
        # `end` is a keyword that needs no quotes after a dot
        node = exp.Dot(this=node, expression=exp.Identifier(this=part) if name == WINDOW else identifier(part))
    return node
