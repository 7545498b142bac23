"""Registrations: every text that a query has had, from when to when, and the node and plan that answer it."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from weft.catalog.clock import now
from weft.catalog.database import Catalog
from weft.model.window import Window


@dataclass(frozen=True)
class Registration:
    """A query under its name; `removed` says when another text took its place or it was taken away."""

    id: int
    name: str
    sql: str
    source: str
    window: Window
    node: int | None
    plan: int | None
    registered: str
    removed: str | None


COLUMNS = "id, name, sql, source, range, slide, start, unit, node, plan, registered, removed"


def registrations(catalog: Catalog) -> list[Registration]:
    """Every registration there ever was, by name and then by age."""
    found = catalog.rows(f"SELECT {COLUMNS} FROM registrations ORDER BY name, id")
    return [Registration(id, name, sql, source, Window(range, slide, start, unit), *rest)
            for id, name, sql, source, range, slide, start, unit, *rest in found]


def find_registration(catalog: Catalog, name: str, sql: str, source: str) -> int | None:
    """The id of the query that has this name now, if it has this text too."""
    question = "SELECT id FROM registrations WHERE name = ? AND removed IS NULL AND sql = ? AND source = ?"
    found = catalog.rows(question, (name, sql, source))
    return found[0][0] if found else None


def keep_registration(catalog: Catalog, name: str, sql: str, source: str, window: Window) -> int:
    """The id of a query that is new; one of the same name that was there before is so no longer."""
    with catalog.changing():
        remove_registration(catalog, name)
        insert = """INSERT INTO registrations (name, sql, source, range, slide, start, unit, registered)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
        return catalog.change(insert, (name, sql, source, *astuple(window), now()))


def remove_registration(catalog: Catalog, name: str) -> bool:
    """Take a query away, keeping its history; False if there is none of the name."""
    with catalog.changing():
        found = catalog.rows("SELECT id FROM registrations WHERE name = ? AND removed IS NULL", (name,))
        catalog.change("UPDATE registrations SET removed = ? WHERE name = ? AND removed IS NULL", (now(), name))
        return bool(found)


def use_plan(catalog: Catalog, registration: int, role: str, place: int, expression: int) -> None:
    """Say what an expression is to a query: its predicate, its time, a key, an argument or a filter."""
    catalog.change("INSERT INTO registration_expressions VALUES (?, ?, ?, ?)",
                   (registration, role, place, expression))


def answering_node(catalog: Catalog, registration: int, node: int, plan: int) -> None:
    """Say which node of which plan answers a query."""
    catalog.change("UPDATE registrations SET node = ?, plan = ? WHERE id = ?", (node, plan, registration))


def plan_uses(catalog: Catalog) -> dict[int, list[str]]:
    """The names of the queries that now use each expression."""
    sql = """SELECT DISTINCT expression, name FROM registration_expressions JOIN registrations ON registration = id
             WHERE removed IS NULL ORDER BY expression, name"""
    found: dict[int, list[str]] = {}
    for expression, name in catalog.rows(sql):
        found.setdefault(expression, []).append(name)
    return found
