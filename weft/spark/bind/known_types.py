"""What Spark's analyser has said of expressions over sources, and the asking of it: about many queries in one analysis.

Names and types are asked of expressions, not of whole queries: of those over rows (time, keys, arguments, WHERE) and of
those over groups (outputs and HAVING, `weft.sql.items`). What is known of one serves every query that has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from weft.io.java import Py4JJavaError
from weft.model.query import Query
from weft.sql import Parsed
from weft.sql.items import Item
from weft.sql.render import SOURCE, window_call

Names = tuple[tuple[str, str], ...]  # of each output the name and the type, as JSON
Ask = Callable[[str, str], StructType]  # what columns a text over a source gives
Pick = Callable[[Item], str]

MOST = 500  # expressions in one text
BOOLEAN = "boolean"


def exact(item: Item) -> str:
    """The text by which only the same item is taken for equal."""
    return item.text


def loose(item: Item) -> str:
    """The text by which items are taken for equal that differ in numbers, as long as there are no decimals."""
    return item.loose


@dataclass
class Question:
    """Queries of one source and time that are asked about together, and the expressions that are not known of them."""

    queries: list[Parsed] = field(default_factory=list)
    items: dict[str, None] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)  # SQL by what it is known by

    @property
    def groups(self) -> list[str]:
        """The keys of those that need not be seen whole."""
        return list(dict.fromkeys(key for parsed in self.queries if parsed.items for key in parsed.query.keys))

    def text(self) -> str:
        """One query, grouped by the keys of all of them; the first of a group's values has the type of all."""
        asked = ", ".join((*self.items, *(f"first({row})" for row in self.rows.values()))) or "1"
        grouped = ", ".join((*self.groups, window_call(self.queries[0].query.time, None)))
        whole = not any(parsed.items for parsed in self.queries)
        return f"SELECT {asked} FROM {SOURCE}" + ("" if whole else f" GROUP BY {grouped}")


class KnownTypes:
    """Types of expressions over rows, names and types of items; `ask` has Spark analyse a text."""

    def __init__(self, ask: Ask):
        self._ask = ask
        self._rows: dict[tuple[str, str], str] = {}
        self._items: dict[tuple[str, str, str], tuple[str, str]] = {}
        self._groups: set[tuple[str, str]] = set()  # what rows can be grouped by
        self._failed: set[tuple[str, str]] = set()  # queries that Spark must see whole to say what is wrong with them

    def forget(self, source: str) -> None:
        """Let go of all that is known of expressions over a source."""
        self._rows = {key: kind for key, kind in self._rows.items() if key[0] != source}
        self._items = {key: found for key, found in self._items.items() if key[0] != source}
        self._groups = {key for key in self._groups if key[0] != source}
        self._failed = {key for key in self._failed if key[0] != source}

    def outputs(self, parsed: Parsed) -> Names | None:
        """The names and types of a query's outputs, if all that Spark could object to in the query is known."""
        query = parsed.query
        where = self._rows.get((query.source, where_key(parsed))) if query.where else BOOLEAN
        found = [self._item(query, item) for item in parsed.items or ()]
        known = tuple(each for each in found if each)
        if parsed.items is None or where != BOOLEAN or len(known) < len(found) or self._unknown_groups(parsed):
            return None
        return known[: len(query.outputs)] if not query.having or known[-1][1] == f'"{BOOLEAN}"' else None

    def types(self, source: str, rows: Iterable[str]) -> dict[str, str]:
        """The types of expressions over rows, as far as they are known."""
        return {row: self._rows[(source, row)] for row in rows if (source, row) in self._rows}

    def keep(self, source: str, rows: Iterable[str], found: StructType) -> None:
        """Remember the types of expressions over rows."""
        kinds = (plain_type(each.dataType.simpleString()) for each in found.fields)
        self._rows |= {(source, row): kind for row, kind in zip(rows, kinds, strict=True)}

    def learn(self, batch: Sequence[Parsed]) -> None:
        """Ask Spark about all in a batch of queries that is not known; what it cannot analyse stays unknown."""
        self._learn(batch, loose)
        self._learn(batch, exact)  # what is loosely the same, but has decimals

    def _learn(self, batch: Sequence[Parsed], pick: Pick) -> None:
        for question in self._questions(batch, pick):
            try:
                found = self._ask(question.queries[0].query.source, question.text())
            except (PySparkException, Py4JJavaError):
                self._learn_halves(question.queries)
            else:
                self._answer(question, found)

    def _learn_halves(self, batch: Sequence[Parsed]) -> None:
        """Ask about the halves of a batch that has an expression at fault, until its query stands alone."""
        middle = len(batch) // 2
        if not middle:
            self._failed |= {(parsed.query.source, parsed.query.text) for parsed in batch}
        for half in (batch[:middle], batch[middle:]) if middle else ():
            self._learn(half, exact)

    def _questions(self, batch: Sequence[Parsed], pick: Pick) -> Iterator[Question]:
        """What is unknown of a batch, about each expression once."""
        made: dict[tuple[str, str], Question] = {}
        seen: set[tuple[str, str, str]] = set()
        for parsed in batch:
            if (parsed.query.source, parsed.query.text) in self._failed:
                continue
            place = parsed.query.source, parsed.query.time
            items = {(*place, pick(item)): item.text for item in parsed.items or ()
                     if self._item(parsed.query, item) is None}
            new, rows = items.keys() - seen, self._unknown_rows(parsed)
            seen |= new
            if new or rows or self._unknown_groups(parsed):
                question = made.setdefault(place, Question())
                question.queries.append(parsed)
                question.items |= dict.fromkeys(text for key, text in items.items() if key in new)
                question.rows |= rows
                if len(question.items) + len(question.rows) >= MOST:
                    yield made.pop(place)
        yield from made.values()

    def _answer(self, question: Question, found: StructType) -> None:
        """Remember what Spark said."""
        source, count = question.queries[0].query.source, len(question.items)
        if question.rows:
            self.keep(source, question.rows, StructType(found.fields[count:]))
        self._groups |= {(source, key) for key in question.groups}
        items = {text: (each.name, each.dataType.json())
                 for text, each in zip(question.items, found.fields[:count], strict=True)}
        for parsed in question.queries:
            query, pick = parsed.query, exact if self._has_decimals(parsed.query) else loose
            self._items |= {(source, query.time, pick(item)): items[item.text] for item in parsed.items or ()
                            if item.text in items}

    def _has_decimals(self, query: Query) -> bool:
        """Whether a key or an argument is a decimal: the digits of numbers beside it decide types."""
        return any("decimal" in kind for kind in self.types(query.source, row_parts(query)).values())

    def _item(self, query: Query, item: Item) -> tuple[str, str] | None:
        place = query.source, query.time
        return self._items.get((*place, item.text)) or self._items.get((*place, item.loose))

    def _unknown_groups(self, parsed: Parsed) -> bool:
        query = parsed.query
        return parsed.items is not None and any((query.source, key) not in self._groups for key in query.keys)

    def _unknown_rows(self, parsed: Parsed) -> dict[str, str]:
        query = parsed.query
        rows = {row: row for row in row_parts(query)}
        if query.where and parsed.items is not None:
            rows[where_key(parsed)] = query.where
        return {key: row for key, row in rows.items() if (query.source, key) not in self._rows}


def row_parts(query: Query) -> list[str]:
    """The expressions over rows whose types a query's components hang on."""
    return [query.time, *query.keys, *(arg for call in query.calls for arg in call.args)]


def where_key(parsed: Parsed) -> str:
    """What a predicate's type is known by."""
    return f"WHERE {parsed.loose_where}"


def plain_type(kind: str) -> str:
    """char(n) and varchar(n) are strings to every aggregate."""
    return "string" if re.fullmatch(r"(var)?char\(\d+\)", kind) else kind
