"""Which files of a query become one: those of triggers next to each other that can never be repeated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from weft.errors import RunError

COLUMNAR = ("parquet", "orc")  # Spark merges these
# Spark puts the number of a file within its task before what the name ends with, as in c000.snappy.parquet.
OWN = re.compile(r"(?:trigger-(\d{9,})|compacted-(\d{9,})-(\d{9,}))-\d{5,}\.(?:c\d+\.)?(.+)")


@dataclass(frozen=True)
class ResultFile:
    """A file that a stream or a compaction wrote: the triggers whose rows it holds, what its name ends with, its size
    in bytes and when it was changed, in seconds."""

    name: str
    first: int
    last: int
    ending: str
    size: int
    changed: float


@dataclass(frozen=True)
class Merge:
    """Files that become one."""

    files: tuple[ResultFile, ...]

    @property
    def ending(self) -> str:
        """What all of their names end with."""
        return self.files[0].ending

    @property
    def size(self) -> int:
        """Their bytes."""
        return sum(file.size for file in self.files)

    def name(self, part: int, ending: str) -> str:
        """The name of a part of what they become."""
        plain = re.sub(r"^c\d+\.", "", ending)
        return f"compacted-{self.files[0].first:09d}-{self.files[-1].last:09d}-{part:05d}.{plain}"


def result_file(name: str, size: int, changed: float) -> ResultFile | None:
    """The file of that name, or None where neither a stream nor a compaction names files so."""
    found = OWN.fullmatch(name)
    if found is None:
        return None
    first, last = found[1] or found[2], found[1] or found[3]
    return ResultFile(name, int(first), int(last), found[4], size, changed)


def is_compacted_with(name: str, trigger: int) -> bool:
    """Whether a file of that name holds what a compaction has merged of a trigger or of a later one."""
    found = OWN.fullmatch(name)
    return found is not None and found[3] is not None and int(found[3]) >= trigger


def choose_merges(files: Iterable[ResultFile], target: int, before: float) -> list[Merge]:
    """What to merge: runs of triggers that together are no larger than the target and were written `before`.

    The newest trigger stays, for only that one may be repeated: Spark begins a trigger when the one before is done.
    """
    runs: list[list[ResultFile]] = [[]]
    for unit in list(by_triggers(files))[:-1]:
        if not may_merge(unit, target, before):
            runs.append([])
            continue
        if runs[-1] and not may_merge([*runs[-1], *unit], target, before):
            runs.append([])
        runs[-1].extend(unit)
    return [Merge(tuple(run)) for run in runs if len(run) > 1]


def format_of(ending: str) -> str | None:
    """The format of files that end so, or None where Weft cannot merge them."""
    # Lines that are compressed are left alone: a stream writes them as they are.
    plain = next((name for name in ("json", "csv") if ending == name), None)
    return plain or next((name for name in COLUMNAR if ending.endswith(name)), None)


def needs_spark(ending: str) -> bool:
    """Whether Spark must merge files that end so."""
    return format_of(ending) in COLUMNAR


def may_merge(files: Sequence[ResultFile], target: int, before: float) -> bool:
    """Whether files are small, old and alike enough to be one."""
    endings = {file.ending for file in files}
    return (sum(file.size for file in files) <= target and all(file.changed < before for file in files)
            and len(endings) == 1 and format_of(*endings) is not None)


def by_triggers(files: Iterable[ResultFile]) -> Iterator[Sequence[ResultFile]]:
    """The files in the order of their triggers, those of the same ones together; raises where some rows are twice."""
    last = -1
    for (first, end), unit in groupby(sorted(files, key=lambda f: (f.first, f.last, f.name)),
                                      key=lambda f: (f.first, f.last)):
        found = list(unit)
        if first <= last:
            raise RunError(f"'{found[0].name}' holds rows of triggers that another file beside it holds too, so "
                           "somebody has copied files here: take away what does not belong there.")
        last = end
        yield found
