"""The expressions known so far: those that mean the same get the text that came first, so that queries share them.

ARGUS keeps such an index of its queries' predicates. The canonical form serves as a name only: what runs is a text
that a user wrote, and Spark has checked it.
"""

from __future__ import annotations

import re
from dataclasses import replace

from weft.model.query import KEY, Call, Output, Query
from weft.sql.canonical import canonical
from weft.sql.kinds import Columns
from weft.sql.ranges import is_risky

NUMBERED = re.compile(re.escape(KEY).replace(r"\{\}", r"(\d+)"))


class Expressions:
    """For every source: its columns' types, the first text of each meaning, the first order of each set of keys."""

    def __init__(self) -> None:
        self._columns: dict[str, Columns] = {}
        self._identities: dict[tuple[str, str], str] = {}
        self._texts: dict[tuple[str, str], str] = {}
        self._orders: dict[tuple[str, frozenset[str]], tuple[str, ...]] = {}

    def register(self, source: str, columns: Columns) -> None:
        """Make the types of a source's columns known, by their names."""
        self._columns[source] = columns

    def forget(self, source: str) -> None:
        """Let go of all that is known of a source."""
        self._columns.pop(source, None)
        self._identities = {key: form for key, form in self._identities.items() if key[0] != source}
        self._texts = {key: text for key, text in self._texts.items() if key[0] != source}
        self._orders = {key: keys for key, keys in self._orders.items() if key[0] != source}

    def shared(self, query: Query) -> Query:
        """The query in the texts of those before it: predicate, time, keys, arguments and filters."""
        source = query.source
        known = replace(
            query,
            where=self._text(source, query.where) if query.where else None,
            time=self._text(source, query.time),
            keys=tuple(self._text(source, key) for key in query.keys),
            calls=tuple(self._call(source, call) for call in query.calls),
        )
        return in_order(known, self._orders.get((source, frozenset(known.keys)), known.keys))

    def keep(self, query: Query) -> None:
        """Remember the texts of a query that runs."""
        parts = [query.where, query.time, *query.keys]
        parts += [part for call in query.calls for part in (*call.args, call.filter)]
        for part in parts:
            if part:
                self._texts.setdefault((query.source, self.identity(query.source, part)), part)
        self._orders.setdefault((query.source, frozenset(query.keys)), query.keys)

    def identity(self, source: str, text: str) -> str:
        """The canonical form of a text over a source."""
        key = (source, text)
        if key not in self._identities:
            self._identities[key] = canonical(text, self._columns.get(source))
        return self._identities[key]

    def is_risky(self, query: Query) -> bool:
        """Whether a comparison of WHERE might fail on rows where an earlier one is not true."""
        return is_risky(query.where, self._columns.get(query.source, {}))

    def _call(self, source: str, call: Call) -> Call:
        only = self._text(source, call.filter) if call.filter else None
        return Call(call.function, tuple(self._text(source, arg) for arg in call.args), only)

    def _text(self, source: str, text: str) -> str:
        return self._texts.get((source, self.identity(source, text)), text)


def in_order(query: Query, keys: tuple[str, ...]) -> Query:
    """The query with its keys in the given order; outputs and HAVING read them by their new numbers."""
    if keys == query.keys or len(keys) != len(query.keys):
        return query
    places = [keys.index(key) for key in query.keys]

    def moved(sql: str) -> str:
        return NUMBERED.sub(lambda found: KEY.format(places[int(found[1])]), sql)

    outputs = tuple(Output(moved(o.sql), o.name, o.type) for o in query.outputs)
    return replace(query, keys=keys, outputs=outputs, having=moved(query.having) if query.having else None)
