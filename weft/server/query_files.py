"""Query files that the service writes: whole or not at all, by names that are safe, and never over somebody's own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from weft.server.replies import BAD, CONFLICT, RefusedRequest

# Stricter than what a query may be called: such a name is a file name on every system.
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
MOST_SQL = 64 * 1024
MARK = re.compile(r"\A-- Kept by weft serve \(([0-9a-f]{16})\): .*\n")
TEXT = "-- Kept by weft serve ({}): change or drop it there. Edited by hand it is yours, and no more the service's.\n"
# A line by which a file holds several queries.
SEVERAL = re.compile(r"^\s*--\s*name:", re.MULTILINE)
# Names of devices on Windows, whatever their ending.
DEVICES = {"con", "prn", "aux", "nul", *(f"{kind}{n}" for kind in ("com", "lpt") for n in range(10))}


def require_name(name: str, known: Iterable[str] = ()) -> str:
    """The name, if it is one for a query that is added here and no other's, in whatever case of letters."""
    if not NAME.fullmatch(name) or name.lower() in DEVICES:
        raise RefusedRequest(BAD, f"'{name[:64]}' cannot name a query that is added here: use up to 64 letters, "
                                  "digits, '_' and '-', and begin with a letter or '_'.")
    for other in known:
        if other.lower() == name.lower():
            raise RefusedRequest(CONFLICT, f"there is already a query '{other}': choose another name, or replace it.")
    return name


def require_sql(sql: str) -> str:
    """The text with plain ends of lines, if it is one text of bearable length."""
    plain = sql.replace("\r\n", "\n").replace("\r", "\n").rstrip()
    if len(plain.encode()) > MOST_SQL:
        raise RefusedRequest(413, f"the SQL of a query may have {MOST_SQL >> 10} KiB.")
    if "\0" in plain or SEVERAL.search(plain):
        raise RefusedRequest(BAD, "give the SQL of one query: a line '-- name:' begins another one, and files hold "
                                  "no zero bytes.")
    return plain


class QueryFiles:
    """The folder of a project in which the service keeps queries, one a file."""

    def __init__(self, folder: Path):
        self.folder = folder

    def path(self, name: str) -> Path:
        """The file of a query; a name that could leave the folder never gets here."""
        return self.folder / f"{require_name(name)}.sql"

    def is_ours(self, name: str) -> bool:
        """Whether the service wrote a query's file, and nobody has edited it since."""
        try:
            path = self.path(name)
            found = MARK.match(text := path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, RefusedRequest):
            return False
        return found is not None and not path.is_symlink() and found[1] == digest(text[found.end():])

    def write(self, name: str, sql: str) -> None:
        """Keep a query: a killed process leaves all of it or nothing. Raises where a file is not the service's."""
        path = self.path(name)
        if os.path.lexists(path) and not self.is_ours(name):
            raise RefusedRequest(CONFLICT, f"'{path.name}' is there, and was not written here or was edited by hand: "
                                           "change that file, or choose another name.")
        self.folder.mkdir(parents=True, exist_ok=True)
        body = f"{sql}\n"
        part = self.folder / f".{name}.{uuid4().hex}.partial"
        try:
            with part.open("x", encoding="utf-8", newline="\n") as target:
                target.write(TEXT.format(digest(body)) + body)
                target.flush()
                os.fsync(target.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Let go of a query, if its file is the service's."""
        if self.is_ours(name):
            self.path(name).unlink(missing_ok=True)


def without_mark(text: str) -> str:
    """The SQL of a file without the service's line, if it has one, and without an empty end."""
    return MARK.sub("", text, count=1).rstrip()


def digest(text: str) -> str:
    """What tells whether somebody has edited a file."""
    return sha256(text.encode()).hexdigest()[:16]
