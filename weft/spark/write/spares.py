"""Spare folders: what was swapped out of a query's place waits beside it, as links, to be the next folder staged.

File systems make and remove folders and files far slower than they link them: ext4 looks for a new file's place among
all that were removed in the last half minute. So of a folder that was swapped out only files go that its query has no
more. The rest are second names of files in place, which take no room; the next refresh adds what is new to them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from pyarrow.fs import LocalFileSystem

from weft.spark.write.owned import MARK, read_mark

SPARE = "_weft_spare"
SPOILED = b"!"


class Spares:
    """The spare folders of queries in a local sink. Nobody relies on one: what lies in it is looked at before it is
    used, and whatever cannot be moved is made anew."""

    def __init__(self, root: str):
        self.root, self.home = root, f"{root}/{SPARE}"
        there = os.listdir(self.home) if os.path.isdir(self.home) else []
        self.drop(query for query in there if read_mark(LocalFileSystem(), f"{root}/{query}").get("query") != query)

    def take(self, query: str, folder: str) -> dict[str, int]:
        """Move a query's spare folder to where none is yet; its files and their numbers, but for the mark.

        The mark is spoiled first: in staging one of another run stands for what lay in a query's place. That and the
        next mark are written over it, so one with a second name, in a copy of the sink as links, is not taken."""
        spare = f"{self.home}/{query}"
        if not self._is_own(query):
            return {}
        try:
            found = folder_files(spare)
            if os.stat(f"{spare}/{MARK}").st_nlink != 1:
                raise FileExistsError(f"{spare}/{MARK}")
            spoil(f"{spare}/{MARK}")
            os.makedirs(os.path.dirname(folder), exist_ok=True)
            os.rename(spare, folder)
        except OSError:  # it has no mark of its own, or a worker made the folder first
            self.drop([query])
            return {}
        del found[MARK]
        return found

    def keep(self, query: str, folder: str, names: Iterable[str]) -> None:
        """Keep a folder that was swapped out as the spare one, with those of its files that are in place too; not where
        these are copies, which take room."""
        if os.path.islink(self.home):
            return
        wanted = {MARK, *names}
        with suppress(OSError):  # then it is removed with all that is staged
            for name in set(os.listdir(folder)) - wanted:
                os.remove(f"{folder}/{name}")
            if any(os.stat(f"{folder}/{name}").st_nlink < 2 for name in set(os.listdir(folder)) - {MARK}):
                return
            os.makedirs(self.home, exist_ok=True)
            os.rename(folder, f"{self.home}/{query}")

    def drop(self, queries: Iterable[str]) -> None:
        """Remove the spare folders of some queries, each with its mark last: what is left of one is still known."""
        for query in filter(self._is_own, queries):
            spare = f"{self.home}/{query}"
            with suppress(OSError):
                for name in sorted(os.listdir(spare), key=MARK.__eq__):
                    os.remove(f"{spare}/{name}")
                os.rmdir(spare)

    def _is_own(self, query: str) -> bool:
        """Whether a spare folder is one that Weft kept, or empty: nothing else there is used or removed."""
        spare = f"{self.home}/{query}"
        if os.path.islink(self.home) or os.path.islink(spare):
            return False
        try:
            with os.scandir(spare) as found:
                plain = {entry.name: entry.is_file(follow_symlinks=False) for entry in found}
        except OSError:
            return False
        return all(plain.values()) and (not plain or (MARK in plain and is_own_mark(spare, query)))


def is_own_mark(folder: str, query: str) -> bool:
    """Whether a folder's mark is one that a run left for a query, or a spoiled one."""
    mark = read_mark(LocalFileSystem(), folder)
    return bool(mark.get("query") == query and mark.get("run")) or is_spoiled(f"{folder}/{MARK}")


def folder_files(folder: str) -> dict[str, int]:
    """The names in a folder, each with the number of its file."""
    with os.scandir(folder) as found:
        return {entry.name: entry.inode() for entry in found}


def spoil(mark: str) -> None:
    """Make a mark one that says nothing. It is not cut to nothing, which ext4 takes for a file that is to be replaced
    and brings to the disk at once; but shorter than any mark, which are told from one another by size and time."""
    with open(mark, "r+b") as file:
        file.write(SPOILED)
        file.truncate()


def is_spoiled(mark: str) -> bool:
    """Whether a mark is one that says nothing."""
    try:
        with open(mark, "rb") as file:
            return file.read(2) == SPOILED
    except OSError:
        return False
