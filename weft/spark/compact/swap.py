"""Putting merged files in the place of those they were made of, so that a reader finds the ones or the others.

A second folder, a generation, gets the merged files and links to all that stays, and is exchanged with the query's
folder in one call of the system. The exchanged one is removed later: who began to list it must be able to end.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from weft.errors import RunError
from weft.io.folders import exchange_folders
from weft.spark.compact.choice import ResultFile, result_file

# Below the sink; Weft's own by its name, and no reader of a query's folder looks there.
WORK = "_weft_compact"


@dataclass(frozen=True)
class SinkFolder:
    """A query's folder in a sink, and where its next generation is made."""

    root: str
    query: str

    @property
    def live(self) -> str:
        """What everybody reads."""
        return f"{self.root}/{self.query}"

    @property
    def generation(self) -> str:
        """The next generation, and once it is in place the one before."""
        return f"{self.root}/{WORK}/generations/{self.query}"

    @property
    def merging(self) -> str:
        """Where merged files are written."""
        return f"{self.root}/{WORK}/merging/{self.query}"


def list_results(folder: str) -> list[ResultFile]:
    """The files in a query's folder that hold its answers."""
    found = []
    for entry in os.scandir(folder):
        facts = entry.stat(follow_symlinks=False)
        mine = result_file(entry.name, facts.st_size, facts.st_mtime)
        found += [mine] if mine and entry.is_file(follow_symlinks=False) else []
    return found


def require_plain(place: SinkFolder) -> None:
    """Raise where a query's folder cannot be exchanged without others noticing."""
    if os.path.islink(place.live):
        raise RunError(f"query '{place.query}': '{place.live}' is a link: compact the sink that it leads to.")
    inner = next((entry.path for entry in os.scandir(place.live) if entry.is_dir(follow_symlinks=False)), None)
    if inner:
        raise RunError(f"query '{place.query}': '{inner}' is a folder that Weft did not make: move it elsewhere, and "
                       "compact again.")


def gather(place: SinkFolder, merged: Mapping[str, str], replaced: Iterable[ResultFile]) -> None:
    """Make the next generation: merged files by their names, and links to all that is not replaced."""
    gone = set(replaced)
    missing = gone - set(list_results(place.live))
    if missing:
        raise RunError(f"query '{place.query}': '{min(f.name for f in missing)}' has changed while it was read. "
                       "Nothing was done; compact again.")
    require_plain(place)
    os.makedirs(place.generation)
    names = {file.name for file in gone}
    for entry in os.scandir(place.live):
        if entry.name not in names:
            os.link(entry.path, f"{place.generation}/{entry.name}", follow_symlinks=False)
    like = f"{place.live}/{min(names)}"
    for name, path in merged.items():
        take_after(like, path)
        os.rename(path, f"{place.generation}/{name}")
    take_after(place.live, place.generation)
    sync_folder(place.generation)


def take_after(like: str, path: str) -> None:
    """Give a file or folder the owner and the rights of another: who could read and write there still can."""
    wanted, found = os.stat(like), os.stat(path)
    if (wanted.st_uid, wanted.st_gid) != (found.st_uid, found.st_gid):
        os.chown(path, wanted.st_uid, wanted.st_gid)
    shutil.copymode(like, path)


def exchange(place: SinkFolder) -> None:
    """Put the generation in place; the one before is then where it was."""
    try:
        exchange_folders(place.live, place.generation)
    except OSError as error:
        raise RunError(f"'{place.live}' cannot be exchanged at once ({error.strerror}), and readers would miss rows or "
                       "see some twice: compact on a file system of Linux or macOS that can (ext4, xfs, btrfs, tmpfs, "
                       "apfs), or copy the files elsewhere with Spark.") from error
    sync_folder(place.root)


def put_back(place: SinkFolder) -> None:
    """Link what others have put into the generation before, after it was gathered, to where they meant it to be.

    Answers are never put back: the stream adds none then, and those that are gone were merged or replaced by it.
    """
    for entry in os.scandir(place.generation):
        if result_file(entry.name, 0, 0.0) is None and not os.path.lexists(f"{place.live}/{entry.name}"):
            shutil.move(entry.path, f"{place.live}/{entry.name}")


def recover(root: str) -> None:
    """Remove what a compaction left that was killed: its files are links, copies, or merged and exchanged."""
    shutil.rmtree(f"{root}/{WORK}/merging", ignore_errors=True)
    home = f"{root}/{WORK}/generations"
    for query in os.listdir(home) if os.path.isdir(home) else ():
        clear(SinkFolder(root, query))


def clear(place: SinkFolder) -> None:
    """Remove a generation that is not in place; where the query's folder is gone it stays, as nobody knows why."""
    if os.path.isdir(place.live):
        put_back(place)
        shutil.rmtree(place.generation)


def remove_work(root: str) -> None:
    """Remove the folder of a compaction that is over, unless a generation had to stay."""
    shutil.rmtree(f"{root}/{WORK}/merging", ignore_errors=True)
    for folder in (f"{root}/{WORK}/generations", f"{root}/{WORK}"):
        with suppress(OSError):
            os.rmdir(folder)


def sync_folder(folder: str) -> None:
    """See to it that the entries of a folder outlive a failure of the machine."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
