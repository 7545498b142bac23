"""Expressions of each source under their canonical forms, and the sets of them that queries group by."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from weft.catalog.database import Catalog


@dataclass(frozen=True)
class Expression:
    """An expression over a source: its canonical form says what it means, its text is the first of that meaning."""

    id: int
    source: str
    canonical: str
    text: str


def expressions(catalog: Catalog) -> list[Expression]:
    """Every expression, the oldest first."""
    return [Expression(*row) for row in catalog.rows("SELECT id, source, canonical, text FROM expressions ORDER BY id")]


def find_expression(catalog: Catalog, source: str, canonical: str) -> int | None:
    """The id of an expression that is known."""
    found = catalog.rows("SELECT id FROM expressions WHERE source = ? AND canonical = ?", (source, canonical))
    return found[0][0] if found else None


def keep_expression(catalog: Catalog, source: str, canonical: str, text: str) -> int:
    """The id of an expression, which is known from now on."""
    with catalog.changing():
        found = find_expression(catalog, source, canonical)
        sql = "INSERT INTO expressions (source, canonical, text) VALUES (?, ?, ?)"
        return catalog.change(sql, (source, canonical, text)) if found is None else found


def find_set(catalog: Catalog, source: str, members: Iterable[int]) -> int | None:
    """The id of a set of expressions that is known; their order does not matter."""
    sql = "SELECT id FROM expression_sets WHERE source = ? AND members = ?"
    found = catalog.rows(sql, (source, text_of(members)))
    return found[0][0] if found else None


def keep_set(catalog: Catalog, source: str, members: Iterable[int]) -> int:
    """The id of a set of expressions, which is known from now on."""
    ids = set(members)
    with catalog.changing():
        found = find_set(catalog, source, ids)
        if found is not None:
            return found
        made = catalog.change("INSERT INTO expression_sets (source, members) VALUES (?, ?)", (source, text_of(ids)))
        for expression in ids:
            catalog.change("INSERT INTO set_members VALUES (?, ?)", (made, expression))
        return made


def text_of(members: Iterable[int]) -> str:
    """The members of a set in the one way in which they are written."""
    return json.dumps(sorted(set(members)))


def set_texts(catalog: Catalog) -> dict[int, tuple[str, ...]]:
    """The texts of every set's expressions."""
    found: dict[int, tuple[str, ...]] = {id: () for (id,) in catalog.rows("SELECT id FROM expression_sets")}
    sql = """SELECT expression_set, text FROM set_members JOIN expressions ON expression = id
             ORDER BY expression_set, expression"""
    for key, text in catalog.rows(sql):
        found[key] += (text,)
    return found
