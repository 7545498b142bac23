"""The file formats Weft reads and writes, in one visible list."""

from __future__ import annotations

import os.path
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Format:
    """A format by its Spark name, with the suffixes that tell it."""

    name: str
    suffixes: tuple[str, ...] = ()


PARQUET = Format("parquet", (".parquet", ".pq"))
CSV = Format("csv", (".csv", ".csv.gz"))
JSON = Format("json", (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz"))
ORC = Format("orc", (".orc",))
NOOP = Format("noop")
CONSOLE = Format("console")
MEMORY = Format("memory")

KAFKA = Format("kafka")
RATE = Format("rate")
SOCKET = Format("socket")

READABLE: tuple[Format, ...] = (PARQUET, CSV, JSON, ORC)
# What is read and is no file.
FEEDS: tuple[Format, ...] = (KAFKA, RATE, SOCKET)
WRITABLE: tuple[Format, ...] = (*READABLE, NOOP)
# What a stream may write to besides.
SHOWN: tuple[Format, ...] = (CONSOLE, MEMORY)


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


def find_format(name: str, formats: tuple[Format, ...]) -> Format | None:
    """The format of that name, in any case of letters."""
    return next((item for item in formats if item.name == name.lower()), None)


def list_formats(formats: tuple[Format, ...]) -> str:
    """The names as people read them: a, b or c."""
    *rest, last = (item.name for item in formats)
    return f"{', '.join(rest)} or {last}"
