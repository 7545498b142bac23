"""Staging: where a run writes before anything is in place, so that a crash at any moment loses nothing.

`old` holds what lay in a query's place before. Who is killed between two moves leaves it there, and the next run into
the same sink puts it back. Where folders can be swapped a place is never empty, and what lay there is where the new
results were: a staged folder with the mark of another run is such a one.
"""

from __future__ import annotations

import errno
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import IO, TypeVar
from uuid import uuid4

from pyarrow import fs

from weft.io.files import holds_anything, list_entries, move_folder, path_exists
from weft.io.folders import exchange_folders
from weft.spark.batch.run import QUERY
from weft.spark.write.owned import MARK, mark_result, read_mark, require_replaceable, require_result

try:
    import fcntl
except ImportError:  # not on Windows, where age decides as it does on remote file systems
    fcntl = None  # type: ignore[assignment]

# What a system says that cannot swap folders.
CANNOT = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)
PREFIX, LOCK = "_weft_staging_", "_weft_lock"
# After so many seconds a folder whose owner cannot be asked is taken for left behind.
LEASE = 86_400.0
# Folders that are written or removed at once.
AT_ONCE = 4

T = TypeVar("T")


@dataclass(frozen=True)
class Staging:
    """The staging folder of one run below the folder of a sink."""

    files: fs.FileSystem
    root: str
    run: str

    @property
    def name(self) -> str:
        """Its name in the sink."""
        return f"{PREFIX}{self.run}"

    @property
    def folder(self) -> str:
        """Its path."""
        return f"{self.root}/{self.name}"

    def place(self, query: str) -> str:
        """Where a query's results belong."""
        return f"{self.root}/{query}"

    def old(self, query: str) -> str:
        """Where what lay there before waits."""
        return f"{self.folder}/old/{query}"

    def written(self) -> dict[str, str]:
        """The folders of results that are not in place yet, by query."""
        return {info.base_name.removeprefix(f"{QUERY}="): info.path for info in self.staged_folders()
                if self.is_new(info.path)}

    def staged_folders(self) -> list[fs.FileInfo]:
        """The folders of queries, each below a number."""
        groups = [info.path for info in list_entries(self.files, self.folder) if info.base_name.isdigit()]
        return [info for group in groups for info in list_entries(self.files, group)
                if info.base_name.startswith(f"{QUERY}=")]

    def swapped(self) -> dict[str, str]:
        """Where what lay in the places of queries is after it was swapped."""
        return {info.base_name.removeprefix(f"{QUERY}="): info.path for info in self.staged_folders()
                if not self.is_new(info.path)}

    def is_new(self, folder: str) -> bool:
        """Whether a folder holds what this run wrote: one that was exchanged holds what lay in place before."""
        return read_mark(self.files, folder).get("run") in (None, self.run)

    def publish(self, queries: Sequence[str], kept: Mapping[str, Mapping] = MappingProxyType({}),
                changes: Mapping[str, Mapping] = MappingProxyType({})) -> None:
        """Mark each query's folder and put it in place; if one cannot be, all that lay there before comes back.

        `kept` is what the marks of some say of their rows, `changes` of the changes that led to them."""
        written = self.written()

        def mark(query: str) -> None:
            known = kept.get(query)
            names = known["files"] if known else [info.base_name for info in list_entries(self.files, written[query])]
            mark_result(self.files, written[query], query, self.run, names, known, changes.get(query))
            require_replaceable(self.files, self.place(query), query)

        side_by_side(mark, queries)
        self.files.create_dir(f"{self.folder}/old", recursive=True)
        try:
            side_by_side(lambda query: self.replace(query, written[query]), queries)
        except BaseException:
            for query in queries:  # those that were not replaced stay as they are
                self.put_back(query)
            raise

    def replace(self, query: str, new: str) -> None:
        """Put new results in a query's place; what lay there is looked at again where nobody else can reach it."""
        if self.exchange(query, new):  # a reader finds the old files or the new ones, at any moment
            require_result(self.files, new, self.place(query), query)
        elif not holds_anything(self.files, self.place(query)):
            move_folder(self.files, new, self.place(query), MARK)
        else:
            move_folder(self.files, self.place(query), self.old(query), MARK, leaving=True)
            require_result(self.files, self.old(query), self.place(query), query)
            move_folder(self.files, new, self.place(query), MARK)

    def exchange(self, query: str, new: str) -> bool:
        """Swap a query's folder with the new one, if there is one and the file system can."""
        if self.files.type_name != "local":
            return False
        try:
            exchange_folders(new, self.place(query))
        except OSError as error:
            gone = error.errno == errno.ENOENT and not path_exists(self.files, self.place(query))
            if gone or error.errno in CANNOT:
                return False
            raise
        return True

    def put_back(self, query: str) -> None:
        """Make a query's place what it was before."""
        swapped = self.swapped().get(query)
        if swapped and read_mark(self.files, self.place(query)).get("run") == self.run:
            exchange_folders(swapped, self.place(query))
            return
        if read_mark(self.files, self.place(query)).get("run") == self.run:
            self.files.delete_dir(self.place(query))
        if path_exists(self.files, self.old(query)) and not self.is_taken(query):
            move_folder(self.files, self.old(query), self.place(query), MARK)

    def is_taken(self, query: str) -> bool:
        """Whether somebody has put something into a query's place since."""
        # Where folders do not move at once, some files may not have left yet; the mark goes last.
        halfway = not read_mark(self.files, self.old(query))
        return not halfway and holds_anything(self.files, self.place(query))

    def remove(self) -> None:
        """Remove the folder, unless something waits in it that could not be put back."""
        if not list_entries(self.files, f"{self.folder}/old") and not self.swapped():
            self.delete()

    def delete(self) -> None:
        """Remove the folder with all that is in it, the lock last: without it nobody would know whose the rest is."""
        side_by_side(self.files.delete_dir, [info.path for info in self.staged_folders()])
        for info in list_entries(self.files, self.folder):
            if info.type == fs.FileType.Directory:
                self.files.delete_dir(info.path)
        if path_exists(self.files, self.folder):
            self.files.delete_dir(self.folder)


def side_by_side(work: Callable[[str], T], items: Iterable[str]) -> list[T]:
    """What some work gives for each item, a few at a time: most of it waits for the file system. Each thread has a
    share of the items: on this machine's disk handing them over one by one would take as long as the work."""
    every = list(items)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="weft-files") as pool:
        found = list(pool.map(lambda first: [work(item) for item in every[first::AT_ONCE]], range(AT_ONCE)))
    return [found[i % AT_ONCE][i // AT_ONCE] for i in range(len(every))]


@contextmanager
def staged(files: fs.FileSystem, root: str) -> Iterator[Staging]:
    """A new staging folder that is gone afterwards; while it is there a lock says that its run is alive."""
    staging = Staging(files, root, uuid4().hex)
    files.create_dir(staging.folder, recursive=True)
    lock = locked(staging)
    try:
        yield staging
        staging.delete()
    except BaseException:
        staging.remove()
        raise
    finally:
        if lock:
            lock.close()


def recover(files: fs.FileSystem, root: str) -> None:
    """Put back what runs that were killed have moved aside, and remove what they left."""
    for info in list_entries(files, root):
        found = re.fullmatch(rf"{PREFIX}([0-9a-f]{{32}})", info.base_name)
        if found and path_exists(files, f"{info.path}/{LOCK}"):
            recover_one(Staging(files, root, found[1]))


def recover_one(staging: Staging) -> None:
    """Recover what one run left, if it is not running any more."""
    lock = locked(staging)
    if lock is None and not is_old(staging):
        return
    try:
        unpublished = staging.written()
        for info in list_entries(staging.files, f"{staging.folder}/old"):
            if info.base_name in unpublished:
                staging.put_back(info.base_name)
            else:  # the new results are in place
                staging.files.delete_dir(info.path)
        for query in unpublished:
            staging.put_back(query)
        for path in staging.swapped().values():  # what lay there before the new results
            staging.files.delete_dir(path)
        staging.remove()
    finally:
        if lock:
            lock.close()


def locked(staging: Staging) -> IO[bytes] | None:
    """The lock of a staging folder, or None where its run holds it or files cannot be locked."""
    path = f"{staging.folder}/{LOCK}"
    if staging.files.type_name != "local" or fcntl is None:
        if not path_exists(staging.files, path):
            staging.files.open_output_stream(path).close()
        return None
    lock = open(path, "ab")  # noqa: SIM115 - it is held for as long as the run lasts
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return None
    return lock


def is_old(staging: Staging) -> bool:
    """Whether a staging folder was made so long ago that its run is over."""
    made = staging.files.get_file_info(f"{staging.folder}/{LOCK}").mtime_ns
    return staging.files.type_name != "local" and made is not None and made / 1e9 < time.time() - LEASE
