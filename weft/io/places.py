"""Places: paths and URIs as folders that can be compared, so that nothing is written where something else lies."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from os.path import realpath
from urllib.parse import unquote

from weft.io.formats import is_remote

WILD = re.compile(r"[*?\[{]")
# Names of one file system that Hadoop's connectors tell apart.
SAME = {"s3a": "s3", "s3n": "s3", "abfss": "abfs", "wasbs": "wasb"}


@dataclass(frozen=True)
class Location:
    """A path in a file system, part by part from the root; a part may be a pattern."""

    scheme: str
    host: str
    parts: tuple[str, ...]


def location_of(path: str) -> Location:
    """The place of a path or URI as the user spells it, with links resolved where it is local."""
    if not is_remote(path):
        return local(path)
    scheme, _, rest = path.partition(":")
    if scheme.lower() == "file":
        return local("/" + re.sub(r"^//[^/]*", "", rest).lstrip("/"))
    host, inner = rest[2:].partition("/")[::2] if rest.startswith("//") else ("", rest)
    name = scheme.lower()
    return Location(SAME.get(name, name), host, split(posixpath.normpath("/" + inner)))


def location_of_uri(uri: str) -> Location:
    """The place of a file as Spark lists it, which writes signs in a name as a URI has them."""
    return location_of(unquote(uri))


def local(path: str) -> Location:
    """A place of this machine."""
    return Location("file", "", split(realpath(path)))


def split(path: str) -> tuple[str, ...]:
    """The parts of a path."""
    return tuple(part for part in path.split("/") if part)


def is_at_or_above(upper: Location, lower: Location) -> bool:
    """Whether a place is another one, or a folder that it lies in."""
    return begins(upper, lower) and len(upper.parts) <= len(lower.parts)


def overlap(a: Location, b: Location) -> bool:
    """Whether two places are the same, or one lies in the other."""
    return begins(a, b)


def reads(source: Location, written: Location) -> bool:
    """Whether Spark would read what lies at a place as rows of a source; it passes over hidden folders."""
    below = written.parts[len(source.parts):]
    return is_at_or_above(source, written) and not any(map(is_hidden, below))


def is_hidden(name: str) -> bool:
    """Whether Spark passes over files of this name."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def begins(a: Location, b: Location) -> bool:
    """Whether the shorter of two places is how the longer begins."""
    # A URI without host means the cluster's own, whose name nobody knows here.
    near = a.scheme == b.scheme and (a.host == b.host or not a.host or not b.host)
    return near and all(alike(x, y) for x, y in zip(a.parts, b.parts, strict=False))


def alike(a: str, b: str) -> bool:
    """Whether two parts may name the same file."""
    if not WILD.search(a + b):
        return a == b
    # Alternatives are Hadoop's own, so they may be anything.
    return "{" in a + b or fnmatchcase(b, a) or fnmatchcase(a, b)

