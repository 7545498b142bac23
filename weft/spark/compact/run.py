"""Compacting the sink of a stream, in steps after each of which the process may be killed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

from pyspark.sql import SparkSession

from weft.errors import RunError
from weft.io.folders import HeldError, hold_folder
from weft.spark.compact.choice import Merge, ResultFile, choose_merges, needs_spark
from weft.spark.compact.merge import merge_files
from weft.spark.compact.request import Request, make_request
from weft.spark.compact.swap import (
    WORK,
    SinkFolder,
    exchange,
    gather,
    list_results,
    put_back,
    recover,
    remove_work,
    require_plain,
)

# So many seconds a folder that was exchanged stays: who has begun to list it then gets to its end.
GRACE = 2.0


@dataclass(frozen=True)
class Compacted:
    """What became of a query's files; of a dry run, what would."""

    query: str
    files_before: int
    files_after: int
    merged_files: int
    merged_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values."""
        return asdict(self)


def compact(sink: str | PathLike[str], queries: Sequence[str] | None = None, older: str | None = None,
            target_size: str | int = "128MB", dry_run: bool = False, spark: SparkSession | None = None,
            ) -> list[Compacted]:
    """Merge small files of a stream's sink, a folder, into files of at most `target_size` with the same rows.

    The stream may run on, and who reads the folder finds each row once at any moment. With `older`, such as "1 hour",
    only files that are older are merged. Parquet and ORC need Spark.
    """
    request = make_request(str(sink), queries, older, target_size, spark)
    report: list[Compacted] = []
    try:
        if dry_run:
            return [figures(query, *choose(request, SinkFolder(request.root, query))) for query in request.queries]
        for _ in compaction_steps(request, report):
            pass
    except OSError as error:
        raise RunError(f"cannot compact '{sink}': {error}. Check that its folders are writable.") from error
    return report


def compaction_steps(request: Request, report: list[Compacted]) -> Iterator[str]:
    """Compact query after query, and tell each step when it is done: whoever stops there leaves every row once."""
    with hold_work(request.root):
        recover(request.root)
        yield "recovered"
        try:
            for query in request.queries:
                yield from compact_query(request, SinkFolder(request.root, query), report)
        except Exception:
            clean_up(request.root, report)
            raise
        clean_up(request.root, report)


def clean_up(root: str, report: Sequence[Compacted]) -> None:
    """Remove what a compaction leaves, once nobody lists it any more."""
    time.sleep(GRACE if any(found.merged_files for found in report) else 0)
    recover(root)
    remove_work(root)


@contextmanager
def hold_work(root: str) -> Iterator[None]:
    """Be the only one who compacts a sink."""
    try:
        os.makedirs(f"{root}/{WORK}", exist_ok=True)
        with hold_folder(f"{root}/{WORK}", wait=False):
            yield
    except HeldError as error:
        raise RunError(f"'{root}' cannot be compacted: another compaction runs there, or its file system has no locks, "
                       f"without which a stream might write at the same moment ({error}).") from error


def compact_query(request: Request, place: SinkFolder, report: list[Compacted]) -> Iterator[str]:
    """Merge files of one query, then put what came of them in place while the stream waits."""
    found, merges = choose(request, place)
    if merges:
        require_plain(place)
        merged: dict[str, str] = {}
        for number, merge in enumerate(merges):
            merged |= write_merge(request, place, merge, f"{place.merging}/{number}")
            yield f"{place.query}: merged"
        with hold_folder(request.root):
            gather(place, merged, [file for merge in merges for file in merge.files])
            yield f"{place.query}: gathered"
            exchange(place)
            yield f"{place.query}: exchanged"
            put_back(place)
    report.append(figures(place.query, found, merges))


def choose(request: Request, place: SinkFolder) -> tuple[list[ResultFile], list[Merge]]:
    """The files of a query, and those that become one."""
    found = list_results(place.live)
    try:
        return found, choose_merges(found, request.target, request.before)
    except RunError as error:
        raise RunError(f"query '{place.query}': {error}") from error


def figures(query: str, found: Sequence[ResultFile], merges: Sequence[Merge]) -> Compacted:
    """What merges make of a query's files."""
    gone = sum(len(merge.files) for merge in merges)
    return Compacted(query, len(found), len(found) - gone + len(merges), gone, sum(merge.size for merge in merges))


def write_merge(request: Request, place: SinkFolder, merge: Merge, target: str) -> dict[str, str]:
    """Write what files become; where it lies now, by its later name."""
    spark = request.session() if needs_spark(merge.ending) else None
    made = merge_files(spark, [f"{place.live}/{file.name}" for file in merge.files], merge.ending, target)
    for path in made:  # as old as the answers in it
        os.utime(path, (max(file.changed for file in merge.files),) * 2)
    return {merge.name(part, os.path.basename(path).partition(".")[2]): path for part, path in enumerate(made)}
