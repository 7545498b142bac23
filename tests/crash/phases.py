"""The phases of a trigger, told from the files that a stream leaves: they say where it was when it was killed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.crash.queries import PARTITIONS, STARTED
from weft.spark.stream.sinks import trigger_prefix

# Rows are read and sliced; windows are folded; answers are written beside their places; they are moved there; the
# trigger is noted as done. Besides: before the first trigger of a process, and between two.
PHASES = ("source", "final", "staging", "moving", "commit")
OTHERS = ("start", "idle")
FINAL = "0"  # Spark numbers the stateful operators of a stream from its end


@dataclass(frozen=True)
class Scene:
    """A process and its folders. What is older than the process is left from an earlier one and tells nothing."""

    folder: Path
    log: Path
    began: float

    @property
    def checkpoint(self) -> Path:
        """The checkpoint of the stream's only scan, which is named by what its slices mean."""
        return next((path for path in listed(self.folder / "checkpoint") if path.name.startswith("scan-")),
                    self.folder / "checkpoint" / "none yet")

    @property
    def begun(self) -> int:
        """The last trigger that was begun, or -1."""
        return newest(self.checkpoint / "offsets")

    @property
    def done(self) -> int:
        """The last trigger that was done, or -1."""
        return newest(self.checkpoint / "commits")

    def phase(self) -> str:
        """Where the process is, or was when it was killed."""
        number = self.begun
        if not self.log.is_file() or STARTED not in self.log.read_text(errors="replace"):
            return "start"
        if number == self.done:
            return "idle"
        if not self.sliced(number):
            return "source"
        return self.delivering(number) if self.kept(number) else "final"

    def sliced(self, number: int) -> bool:
        """Whether some of a trigger's rows have been cut and written for the final stage."""
        begun = written(self.checkpoint / "offsets" / str(number))
        folders = (folder for place in listed(self.folder / "scratch") if place.name.startswith("blockmgr")
                   for folder in listed(place))
        return any(path.name.startswith("shuffle") and written(path) > begun
                   for folder in folders for path in listed(folder))

    def delivering(self, number: int) -> str:
        """Where it is once all answers are made."""
        if not any(path.name.startswith("_weft_staging_scan-") for path in listed(self.folder / "out")):
            return "commit"
        return "moving" if any(self.fresh(path) for path in self.published(number)) else "staging"

    def published(self, number: int) -> list[Path]:
        """The files of a trigger that are in their places; folders come and go while they are looked at."""
        return [path for folder in listed(self.folder / "out") for path in listed(folder)
                if path.name.startswith(trigger_prefix(number))]

    def kept(self, number: int) -> bool:
        """Whether the final stage has kept its state of a trigger in all partitions."""
        state = self.checkpoint / "state" / FINAL
        return all(self.fresh(state / str(part) / f"{number + 1}.changelog") for part in range(PARTITIONS))

    def fresh(self, path: Path) -> bool:
        """Whether this process wrote a file."""
        return written(path) >= self.began


def written(path: Path) -> float:
    """When a file was written, or 0 if it is not there."""
    with suppress(FileNotFoundError):
        return path.stat().st_mtime
    return 0.0


def newest(folder: Path) -> int:
    """The highest number that names a file in a folder, or -1."""
    return max((int(path.name) for path in listed(folder) if path.name.isdigit()), default=-1)


def listed(folder: Path) -> list[Path]:
    """What is in a folder; nothing if it is none, or no longer."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return list(folder.iterdir())
    return []
