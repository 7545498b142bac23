"""Registers queries in a store: the tests run it as processes of their own, several at a time."""

from __future__ import annotations

import sys

from weft.catalog.store import open_store
from weft.model.query import Call, Query
from weft.model.window import Window


def query(name: str, text: str) -> Query:
    return Query(name, text, "trades", "ts", Window(10, 5), "price > 1", ("symbol",), (Call("sum", ("volume",)),), (),
                 None, "")


def register(folder: str, who: str, count: int) -> None:
    """Queries of this process alone, and one name that all processes fight for."""
    store = open_store(folder, lambda source, text: text)
    for number in range(count):
        store.register([query(f"{who}_{number}", "SELECT 1"), query("common", f"SELECT {number} AS {who}")])
    store.close()


if __name__ == "__main__":
    register(sys.argv[1], sys.argv[2], int(sys.argv[3]))
