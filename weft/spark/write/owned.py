"""What Weft wrote: a mark in each folder of results, by which they are told from what other people put there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from os.path import islink
from types import MappingProxyType

from pyarrow import fs

from weft.errors import RunError
from weft.io.files import list_entries, path_exists, read_json, write_json, write_over

# Spark and others pass over names that begin with `_`; without a suffix no pattern such as *.json finds it either.
MARK = "_weft_result"
# What desktops leave in every folder that somebody looks into.
LITTER = (".DS_Store", "Thumbs.db", "desktop.ini")


def mark_result(files: fs.FileSystem, folder: str, query: str, run: str, names: Iterable[str],
                kept: Mapping | None = None, changes: Mapping | None = None) -> None:
    """Mark a folder as a query's result that a run wrote, with the names of its files; `kept` is what is known of rows
    of which some can be brought up to date without the others, `changes` where and how far their changes are told."""
    more = {name: told for name, told in (("kept", kept), ("changes", changes)) if told is not None}
    told = {"query": query, "run": run, "files": sorted(names), **more}
    write_over(files, f"{folder}/{MARK}", json.dumps(told).encode())  # nobody looks at it before it is in place


def mark_stream(files: fs.FileSystem, folder: str, query: str, stream: str) -> None:
    """Mark a folder as one to which a stream adds a query's answers."""
    write_json(files, f"{folder}/{MARK}", {"query": query, "stream": stream})


def read_mark(files: fs.FileSystem, folder: str) -> Mapping:
    """The mark of a folder; empty where it has none that can be read."""
    path = f"{folder}/{MARK}"
    if files.type_name == "local":
        try:
            found = os.stat(path)
        except OSError:
            return {}
        return read_local_mark(MarkFile(found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size, path))
    return parse_mark(files, path)


@dataclass(frozen=True)
class MarkFile:
    """A mark on this machine, told from others by disk, number, time and size, wherever its folder has been moved."""

    disk: int
    number: int
    modified: int
    size: int
    path: str = field(compare=False)


@lru_cache(8192)
def read_local_mark(file: MarkFile) -> Mapping:
    """What a mark says: it is written once, and a run looks at each several times."""
    return MappingProxyType(parse_mark(fs.LocalFileSystem(), file.path))


def parse_mark(files: fs.FileSystem, path: str) -> dict:
    """What a mark says; empty where it cannot be read."""
    try:
        found = read_json(files, path)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def require_replaceable(files: fs.FileSystem, folder: str, query: str) -> None:
    """Raise where a run would replace something other than an earlier result of the query."""
    if files.type_name == "local" and islink(folder):
        raise RunError(f"query '{query}' would replace '{folder}', which is a link: remove the link, or choose the "
                       "folder that it leads to as the sink.")
    if path_exists(files, folder):
        require_result(files, folder, folder, query)


def require_result(files: fs.FileSystem, folder: str, place: str, query: str) -> None:
    """Raise where a folder, which lies or lay at a place, is not wholly what a run wrote of the query."""
    what, mend = f"query '{query}' would replace '{place}'", "Choose another sink, or move or delete it."
    if files.get_file_info(folder).type != fs.FileType.Directory:
        raise RunError(f"{what}, a file that Weft did not write. {mend}")
    found, mark = folder_names(files, folder), read_mark(files, folder)
    if mark.get("stream"):
        raise RunError(f"{what}, which holds the answers of a stream. {mend}")
    if mark.get("query") != query or not mark.get("run"):
        if found:
            raise RunError(f"{what}, a folder that Weft did not write, or that an older version wrote. {mend}")
        return
    strange = find_stranger(found, mark.get("files", ()))
    if strange:
        raise RunError(f"{what}, and '{strange}' in it was not written by Weft. Move that elsewhere, or choose another "
                       "sink.")


def folder_names(files: fs.FileSystem, folder: str) -> dict[str, bool]:
    """What lies directly in a folder, by name, and whether it is a file."""
    if files.type_name != "local":
        return {info.base_name: info.type == fs.FileType.File for info in list_entries(files, folder)}
    with os.scandir(folder) as found:
        return {entry.name: entry.is_file() for entry in found}


def find_stranger(found: Mapping[str, bool], names: Iterable[str]) -> str | None:
    """The name of something in a folder of results that is none of its files."""
    own = {MARK, "_SUCCESS", *names}
    rest = [name for name, is_file in found.items() if name not in own or not is_file]
    allowed = {*(f".{name}.crc" for name in own), f"{MARK}.partial", *LITTER} if rest else ()
    strange = [name for name in rest if name not in allowed or not found[name]]
    # What everybody sees is named rather than what is hidden beside it.
    return min(strange, key=lambda name: (name.startswith("."), name), default=None)


def require_stream(files: fs.FileSystem, folder: str, query: str, stream: str, claimed: bool) -> None:
    """Raise where a stream would add to a folder that is not its own; in a sink that is `claimed` an older version
    wrote no marks."""
    found, mark = result_files(files, folder, query), read_mark(files, folder)
    if not found or mark.get("stream") == stream:
        return
    old = claimed and not mark and all(info.base_name.startswith(("trigger-", ".trigger-")) for info in found)
    if not old:
        whose = "another stream" if mark.get("stream") else "a batch run" if mark else "somebody else"
        raise RunError(f"query '{query}' would be written to '{folder}', which holds files of {whose}. Choose another "
                       "sink, or move or delete the folder.")


def result_files(files: fs.FileSystem, folder: str, query: str) -> list[fs.FileInfo]:
    """What lies in a folder that a stream adds to; raises where it is a file."""
    if files.get_file_info(folder).type == fs.FileType.File:
        raise RunError(f"query '{query}' would be written to '{folder}', which is a file. Choose another sink.")
    return [info for info in list_entries(files, folder) if info.base_name not in LITTER]
