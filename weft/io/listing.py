"""Listing: the size and time of the files that Spark names, wherever they lie."""

from __future__ import annotations

import re
from collections.abc import Iterable
from os import PathLike, fsync, open, stat
from os import close as shut
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pyarrow import fs

from weft.catalog.slice_caches import File
from weft.errors import RunError


def spellings(uri: str) -> tuple[str, ...]:
    """A URI as Spark may spell it: without a host one place writes `file:/a`, another `file:///a`."""
    bare = re.fullmatch(r"([\w.+-]+):/(?://)?([^/].*)", uri)
    return (f"{bare[1]}:/{bare[2]}", f"{bare[1]}:///{bare[2]}") if bare else (uri,)


def listed_files(uris: Iterable[str]) -> dict[str, File]:
    """Every file with its size and time of change, by URI; raises where one is gone."""
    groups: dict[tuple[str, str], list[str]] = {}
    for uri in uris:
        parts = urlsplit(uri)
        groups.setdefault((parts.scheme, parts.netloc), []).append(uri)
    return {file.path: file for group, found in groups.items() for file in look(group, found)}


def look(place: tuple[str, str], uris: list[str]) -> list[File]:
    """The files of one file system."""
    paths = [path_after(uri, place[1]) for uri in uris]
    try:
        if place[0] in ("", "file"):
            return [local_file(*pair) for pair in zip(uris, paths, strict=True)]
        return [remote_file(uri, info) for uri, info in zip(uris, remote_info(place, paths), strict=True)]
    except OSError as error:
        raise RunError(f"cannot look at the source's files: {error}. Run again when they stay as they are.") from error


def path_after(uri: str, host: str = "") -> str:
    """The path in a URI: all that follows the host, for a name may hold what a URI takes for a question or fragment."""
    return unquote(uri[uri.index(":") + 1 :].removeprefix(f"//{host}"))


def local_file(uri: str, path: str) -> File:
    """A file of this machine."""
    found = stat(path)
    return File(uri, found.st_size, found.st_mtime_ns)


def remote_info(place: tuple[str, str], paths: list[str]) -> list[fs.FileInfo]:
    """What a remote file system says of paths."""
    scheme, host = place
    # Spark's name of S3 is s3a, Arrow's is s3, and to Arrow the bucket is part of the path.
    system, root = fs.FileSystem.from_uri(f"{scheme.replace('s3a', 's3')}://{host}/")
    return system.get_file_info([f"{root.rstrip('/')}/{path.lstrip('/')}" for path in paths])


def remote_file(uri: str, info: fs.FileInfo) -> File:
    """A file of a remote file system."""
    if info.type != fs.FileType.File:
        raise FileNotFoundError(f"'{uri}' is gone")
    return File(uri, int(info.size or 0), int(info.mtime_ns or 0))


def to_disk(folder: str | PathLike[str]) -> int:
    """See that a local folder's files have reached the disk; gives their size in all."""
    files = sorted(Path(folder).rglob("*.parquet"))
    for path in (*files, Path(folder), Path(folder).parent):
        handle = open(path, 0)
        try:
            fsync(handle)
        finally:
            shut(handle)
    return sum(path.stat().st_size for path in files)
