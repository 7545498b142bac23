"""What can be wrong with the catalog's file, each with its sentence and what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from weft.errors import CatalogError

AWAY = "Move it away, and Weft makes a new one"
# SQLite's names of errors, by how they begin, as sentences about the catalog.
SENTENCES = (
    ("SQLITE_BUSY", "another process has been writing to it for too long. Try again when it is done."),
    ("SQLITE_LOCKED", "another process has been writing to it for too long. Try again when it is done."),
    ("SQLITE_NOTADB", f"this is no catalog: it is not an SQLite file. {AWAY}, or choose another store."),
    ("SQLITE_CORRUPT", f"the file is damaged. {AWAY}, or bring back a copy of it."),
    ("SQLITE_READONLY", "it cannot be written. Make the file and its folder writable, or choose another store."),
    ("SQLITE_PERM", "it cannot be written. Make the file and its folder writable, or choose another store."),
    ("SQLITE_CANTOPEN", "it cannot be opened. Make the file and its folder writable, or choose another store."),
    ("SQLITE_FULL", "there is no room left on the disk. Make room and try again."),
    ("SQLITE_IOERR", "the disk does not read or write it. See that its folder is there and the disk is sound."),
)


def fail(path: Path, sentence: str) -> NoReturn:
    """Raise the error of a catalog."""
    raise CatalogError(f"catalog '{path}': {sentence}")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Within, what SQLite finds wrong with the file becomes a sentence; what is wrong with a statement is a bug."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", None) or ""
        sentence = next((text for start, text in SENTENCES if name.startswith(start)), None)
        if sentence is None:
            raise
        raise CatalogError(f"catalog '{path}': {sentence}") from error
