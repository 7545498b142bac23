"""Writes to a catalog until it is killed: the tests run it as a process of its own."""

from __future__ import annotations

import sys

from weft.catalog.database import open_catalog

PER_TRANSACTION = 5


def write(path: str) -> None:
    """Transactions of several rows each, named by the process that writes them."""
    print("ready", flush=True)
    with open_catalog(path) as catalog:
        number = catalog.rows("SELECT coalesce(max(id), 0) FROM expressions")[0][0]
        while True:
            with catalog.changing():
                for place in range(PER_TRANSACTION):
                    sql = "INSERT INTO expressions (source, canonical, text) VALUES (?, ?, ?)"
                    catalog.change(sql, (f"t{number}", f"x{place}", "x" * 500))
            number += 1


if __name__ == "__main__":
    write(sys.argv[1])
