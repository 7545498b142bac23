"""What a user wants compacted, read and checked."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyarrow import fs
from pyspark.sql import SparkSession

from weft.errors import RunError
from weft.io.files import list_entries, open_filesystem, read_json
from weft.io.formats import is_remote
from weft.spark.session.session import active_or_local
from weft.spark.write.guard import OWNER
from weft.spark.write.owned import read_mark

BYTES = {"": 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
SECONDS = {"s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600, "d": 86_400,
           "day": 86_400}


@dataclass(frozen=True)
class Request:
    """Queries of the sink at `root` whose files become ones of at most `target` bytes, where they were written `before`
    a moment; `session` gives Spark to those that need it."""

    root: str
    queries: tuple[str, ...]
    target: int
    before: float
    session: Callable[[], SparkSession]


def make_request(sink: str, queries: Sequence[str] | None, older: str | None, target_size: str | int,
                 spark: SparkSession | None) -> Request:
    """The request of a caller; raises where there is no sink of a stream on this machine."""
    if is_remote(sink):
        raise RunError(f"'{sink}' is not on this machine, and elsewhere several files cannot be replaced at once: copy "
                       "them with Spark into another folder, and delete them afterwards.")
    before = time.time() - parse_age(older) if older is not None else float("inf")
    found = find_queries(sink)
    for name in queries or ():
        if name not in found:
            raise RunError(f"query '{name}' has no folder in '{sink}' that a stream writes to; there are: "
                           f"{', '.join(found) or 'none'}.")
    root = open_filesystem(sink)[1]
    return Request(root, tuple(queries or found), parse_size(target_size), before, lambda: spark or active_or_local())


def find_queries(sink: str) -> list[str]:
    """The queries that a stream writes to a sink, by the marks in their folders; others' folders are left alone."""
    files, root = open_filesystem(sink)
    try:
        owner = read_json(files, f"{root}/{OWNER}")
        folders = [info for info in list_entries(files, root) if info.type == fs.FileType.Directory]
    except (OSError, ValueError) as error:
        raise RunError(f"cannot read the sink '{sink}': {error}.") from error
    if owner is None:
        raise RunError(f"'{sink}' is not the sink of a stream that Weft started: give the folder that was named as its "
                       "sink, in which each query has a folder.")
    return sorted(info.base_name for info in folders
                  if is_written(read_mark(files, info.path), info.base_name, owner.get("stream")))


def is_written(mark: Mapping[str, str], query: str, stream: str | None) -> bool:
    """Whether a mark says that a stream adds a query's answers to its folder."""
    return mark.get("query") == query and stream is not None and mark.get("stream") == stream


def parse_size(text: str | int) -> int:
    """So many bytes: "128MB", "1 GB" or a number."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?B?)\s*", str(text).upper())
    unit = found[2].replace("I", "") if found else None
    unit = f"{unit}B" if unit in ("K", "M", "G", "T") else unit
    if found is None or unit not in BYTES or float(found[1]) * BYTES[unit] < 1:
        raise RunError(f"'{text}' is no size: write a number of bytes, or one such as 128MB.")
    return int(float(found[1]) * BYTES[unit])


def parse_age(text: str) -> float:
    """So many seconds: "1h", "30 minutes", "2 days"."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+?)(s?)\s*", str(text).lower())
    unit = (found[2] if found[2] in SECONDS else found[2] + found[3]) if found else None
    if found is None or unit not in SECONDS:
        raise RunError(f"'{text}' is no length of time: write one such as 1h, 30 minutes or 2 days.")
    return float(found[1]) * SECONDS[unit]
