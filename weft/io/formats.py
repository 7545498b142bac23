"""Names of formats, and paths as Spark sees them."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol, TypeVar


class Member(Protocol):
    """A member of a family of sources or sinks."""

    @property
    def facts(self) -> Any:
        """What it can do, its name among that."""


M = TypeVar("M", bound=Member)


def absolute(path: str) -> str:
    """A local path from the root, and a URI as it is."""
    # Spark sees a relative path from where its Java process started, which need not be where Python is now.
    return path if is_remote(path) else os.path.abspath(path)


def locate(folder: Path, path: str) -> str:
    """A path as seen from a folder; a URI is left alone."""
    return path if not path or is_remote(path) else str(folder / path)


def is_remote(path: str) -> bool:
    """Whether the path is a URI that only Spark can look into."""
    # Some write `dbfs:/a` for what others write `dbfs:///a`; a single letter is a drive.
    return re.match(r"[A-Za-z][\w.+-]+:/", path) is not None


def find_member(name: str, members: Iterable[M]) -> M | None:
    """The source or sink of that name, in any case of letters."""
    return next((member for member in members if member.facts.name == name.lower()), None)


def list_members(members: Iterable[Member]) -> str:
    """The names as people read them: a, b or c."""
    *rest, last = (member.facts.name for member in members)
    return f"{', '.join(rest)} or {last}" if rest else last
