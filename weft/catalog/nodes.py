"""Nodes: one partial stage each, with its columns, and from which other node a plan computes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from weft.catalog.database import Catalog
from weft.catalog.expressions import set_texts
from weft.model.window import TIME

Progressions = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class NodeShape:
    """What makes a node the one it is, in ids of the catalog; a predicate of None is that of all rows."""

    source: str
    expression_set: int
    time: int
    predicates: tuple[int | None, ...]
    progressions: Progressions
    sharing: str
    unit: str = TIME


@dataclass(frozen=True)
class NodeColumn:
    """A column of a node's slices: what it is, for which predicate if that matters, and the SQL that computes it."""

    name: str
    predicate: int | None
    sql: str


@dataclass(frozen=True)
class CatalogNode:
    """A node in texts; `parent` is the node that a plan computes it from, None where that is the source itself."""

    id: int
    source: str
    keys: tuple[str, ...]
    time: str
    predicates: tuple[str | None, ...]
    progressions: Progressions
    sharing: str
    parent: int | None
    columns: tuple[str, ...]
    unit: str = TIME


def keep_node(catalog: Catalog, shape: NodeShape) -> int:
    """The id of a node, which is known from now on."""
    values = (shape.source, shape.expression_set, shape.time, json.dumps(shape.predicates),
              cuts_text(shape), shape.sharing)
    with catalog.changing():
        found = catalog.rows(
            """SELECT id FROM nodes WHERE source = ? AND expression_set = ? AND time = ? AND predicates = ?
               AND progressions = ? AND sharing = ?""", values)
        sql = """INSERT INTO nodes (source, expression_set, time, predicates, progressions, sharing)
                 VALUES (?, ?, ?, ?, ?, ?)"""
        return found[0][0] if found else catalog.change(sql, values)


def widen_node(catalog: Catalog, node: int, columns: Sequence[NodeColumn]) -> None:
    """Add the columns that a node does not have yet (ARGUS's horizontal expansion)."""
    with catalog.changing():
        sql = "SELECT name, predicate, sql FROM node_columns WHERE node = ?"
        known = {NodeColumn(*row) for row in catalog.rows(sql, (node,))}
        new = [column for column in dict.fromkeys(columns) if column not in known]
        for place, column in enumerate(new, start=len(known)):
            catalog.change("INSERT INTO node_columns VALUES (?, ?, ?, ?, ?)",
                           (node, place, column.name, column.predicate, column.sql))


def place_node(catalog: Catalog, plan: int, node: int, parent: int | None) -> None:
    """Say from which node a plan computes a node."""
    catalog.change("INSERT OR IGNORE INTO plan_nodes VALUES (?, ?, ?)", (plan, node, parent))


def nodes(catalog: Catalog, plan: int) -> list[CatalogNode]:
    """The nodes of a plan."""
    texts, sets = dict(catalog.rows("SELECT id, text FROM expressions")), set_texts(catalog)
    sql = """SELECT id, source, expression_set, time, predicates, progressions, sharing, parent
             FROM nodes JOIN plan_nodes ON node = id WHERE plan = ? ORDER BY id"""
    return [
        CatalogNode(id, source, sets[keys], texts[time], tuple(texts.get(p) for p in json.loads(predicates)),
             cuts, sharing, parent, column_names(catalog, id), unit)
        for id, source, keys, time, predicates, progressions, sharing, parent in catalog.rows(sql, (plan,))
        for unit, cuts in [cuts_of(progressions)]
    ]


def cuts_text(shape: NodeShape) -> str:
    """Where slices are cut, as text: progressions of time, or of another unit under its name."""
    return json.dumps(shape.progressions if shape.unit == TIME else {shape.unit: shape.progressions})


def cuts_of(text: str) -> tuple[str, Progressions]:
    """The unit and the progressions of such a text."""
    found = json.loads(text)
    ((unit, listed),) = found.items() if isinstance(found, dict) else ((TIME, found),)
    return unit, tuple((phase, period) for phase, period in listed)


def column_names(catalog: Catalog, node: int) -> tuple[str, ...]:
    """What a node's columns are, each once however many predicates have it."""
    found = catalog.rows("SELECT name FROM node_columns WHERE node = ? ORDER BY place", (node,))
    return tuple(dict.fromkeys(name for (name,) in found))
