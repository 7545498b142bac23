"""The journal: what the stream runs, what is about to change, and which queries of the project were dropped here.

A change is put down before it is made. Whoever starts after a crash finds the texts that the checkpoint was made with,
and the one change that may or may not have been made.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from weft.errors import RunError

FILE = "stream.json"


@dataclass(frozen=True)
class Pending:
    """A change that was begun: `kind` is add, replace or drop."""

    kind: str
    name: str
    sql: str = ""


@dataclass(frozen=True)
class Journal:
    """The SQL of each query that the stream runs by its checkpoint, the change that was begun, and the SQL of queries
    that were dropped though their files, which are not the service's, are there."""

    checkpoint: str = ""
    running: Mapping[str, str] = field(default_factory=dict)
    pending: Pending | None = None
    dropped: Mapping[str, str] = field(default_factory=dict)

    def begun(self, change: Pending) -> Journal:
        """The journal with a change that is about to be made."""
        return replace(self, pending=change)

    def done(self) -> Journal:
        """The journal after the change."""
        return replace(self, running=self.changed(), pending=None)

    def changed(self) -> dict[str, str]:
        """What runs once the change has been made."""
        left = {name: sql for name, sql in self.running.items() if not self.pending or name != self.pending.name}
        kept = self.pending and self.pending.kind != "drop"
        return {**left, self.pending.name: self.pending.sql} if self.pending and kept else left

    def wanted(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The project's queries without those that were dropped here; one that was edited since is there again."""
        return {name: sql for name, sql in texts.items() if self.dropped.get(name) != sql}


def read_journal(folder: Path) -> Journal:
    """The journal of a project; an empty one where there is none yet."""
    try:
        found = json.loads((folder / FILE).read_text(encoding="utf-8"))
        pending = found.pop("pending")
        return Journal(**found, pending=Pending(**pending) if pending else None)
    except FileNotFoundError:
        return Journal()
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise RunError(f"'{folder / FILE}' cannot be read: {error}. It says which queries the stream runs; without it "
                       "they are taken from the project, so move it away if the project is as it was.") from error


def write_journal(folder: Path, journal: Journal) -> None:
    """Keep the journal, at once."""
    write_whole(folder / FILE, json.dumps(asdict(journal), indent=1))


def write_whole(path: Path, text: str, mode: int = 0o600) -> None:
    """Write a file that only its owner reads: whoever opens it finds all of it or what was there before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.partial")
    part.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as target:
            target.write(text)
            target.flush()
            os.fsync(target.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
