"""The catalog's file: opened or made, brought to this version, read and changed in whole transactions.

SQLite in WAL mode: readers see a snapshot while another process writes, writers wait for each other, and what was
committed is on disk. A process may be killed anywhere: its transaction is then as if it had never begun.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Any

from weft.catalog.faults import fail, translated
from weft.catalog.schema import MIGRATIONS, VERSION

# "WEFT": by it a catalog is told from other SQLite files.
APPLICATION = 0x57454654
FILE = "catalog.db"
# How many seconds a process waits for others to end their transactions.
WAIT = 30.0


class Catalog:
    """An open catalog; threads may share it, processes open their own."""

    def __init__(self, path: Path, connection: sqlite3.Connection):
        self.path = path
        self._connection = connection
        self._lock = threading.RLock()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a question."""
        with self._lock, translated(self.path):
            return self._connection.execute(sql, values).fetchall()

    def change(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Carry out a statement and give the id of the row it put in; outside a transaction it is one by itself."""
        with self.changing(), translated(self.path):
            return self._connection.execute(sql, values).lastrowid or 0

    @contextmanager
    def changing(self) -> Iterator[Catalog]:
        """A transaction: what is changed within is kept as a whole, or not at all if an error leaves it.

        One within another is part of it.
        """
        with self._lock:
            if self._connection.in_transaction:
                yield self
                return
            with transaction(self._connection, self.path):
                refuse_newer(self.path, read_pragma(self._connection, "user_version"))
                yield self

    @contextmanager
    def reading(self) -> Iterator[Catalog]:
        """Questions within see one state of the catalog, whatever others write; nothing may be changed there."""
        with self._lock, transaction(self._connection, self.path, "BEGIN"):
            yield self

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def open_catalog(path: str | PathLike[str], create: bool = True, wait: float = WAIT) -> Catalog:
    """The catalog in a file, brought to this version; a new one where there is none and `create` allows it."""
    file = Path(path)
    prepare(file, create)
    with translated(file):
        connection = sqlite3.connect(file, timeout=wait, isolation_level=None, check_same_thread=False)
    try:
        settle(connection, file, wait)
    except BaseException:
        connection.close()
        raise
    return Catalog(file, connection)


def prepare(file: Path, create: bool) -> None:
    """See that there is a file to open, or a folder to make one in."""
    if file.is_dir():
        fail(file, "this is a folder, not a file. Choose another store.")
    if not create and not file.exists():
        fail(file, "there is none yet. Run queries with this store first.")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(file, f"its folder cannot be made: {error.strerror}. Choose another store.")


def settle(connection: sqlite3.Connection, file: Path, wait: float) -> None:
    """Refuse files that are no catalog of this version or an older one, before anything in them is changed."""
    with translated(file):
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        with transaction(connection, file, "BEGIN"):  # one state of the file, though another process may settle it now
            refuse_others(connection, file)
        write_ahead(connection, wait)
        if read_pragma(connection, "user_version") != VERSION:
            with transaction(connection, file):
                refuse_others(connection, file)  # another process may have been here since
                migrate(connection)


def refuse_others(connection: sqlite3.Connection, file: Path) -> None:
    """Raise an error for the file of another program or of a newer Weft; an empty file becomes a catalog."""
    application = read_pragma(connection, "application_id")
    version = read_pragma(connection, "user_version")
    tables = connection.execute("SELECT 1 FROM sqlite_master").fetchall()
    if application != APPLICATION and (application or version or tables):
        fail(file, "this is no catalog: another program keeps its data in it. Choose another store.")
    refuse_newer(file, version)


def refuse_newer(file: Path, version: int) -> None:
    """Raise an error for a catalog that this Weft does not know how to read."""
    if version > VERSION:
        fail(file, f"a newer Weft wrote it (version {version}; this one reads up to {VERSION}). "
                   "Upgrade Weft, or choose another store.")


def write_ahead(connection: sqlite3.Connection, wait: float) -> None:
    """Switch to WAL mode. SQLite itself does not wait where another process switches at the same time."""
    until = monotonic() + wait
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or monotonic() > until:
                raise
            sleep(0.01)


def migrate(connection: sqlite3.Connection) -> None:
    """Take the steps that the file has not had."""
    for step in MIGRATIONS[read_pragma(connection, "user_version"):]:
        for statement in step:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


@contextmanager
def transaction(connection: sqlite3.Connection, file: Path, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Begin as a writer at once, so that nothing read within can be stale; commit, or undo all if an error leaves."""
    with translated(file):
        connection.execute(begin)
    try:
        yield
        with translated(file):
            connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def read_pragma(connection: sqlite3.Connection, pragma: str) -> int:
    """The value of a pragma."""
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
