"""The calibration table: nanoseconds per answer of each algorithm, measured at a few points and read between them."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from math import exp, isfinite, log
from pathlib import Path
from typing import Any

from weft.aggregates.operation import Operation, Types
from weft.cost.spark import SparkCosts, read_costs
from weft.errors import RunError

VERSION = 2
NANO = 1e-9

# A point of measurement: slices in the longest window, how many ranges, nanoseconds per answer.
Point = tuple[int, int, float]


class FiguresWarning(UserWarning):
    """The machine's own figures are there and cannot be used."""


@dataclass(frozen=True)
class CalibrationTable:
    """What each algorithm takes to start in a fresh worker, and per answer for each kind of value; what Spark takes."""

    start: dict[str, float]
    answer: dict[str, dict[str, tuple[Point, ...]]]
    memcpy: float
    machine: str = ""
    measured: str = ""
    spark: SparkCosts = field(default_factory=SparkCosts)

    def seconds(self, algorithm: str, kind: str, ranges: Sequence[int], cells: int) -> float | None:
        """What folding so many cells into windows of these ranges takes in a fresh worker; None if never measured."""
        points = self.answer.get(algorithm, {}).get(kind)
        if not points:
            return None
        each = between(points, max(ranges), len(ranges))
        return self.start.get(algorithm, 0.0) + each * NANO * cells * len(ranges)

    def to_dict(self) -> dict[str, Any]:
        """The figures as plain values."""
        return {"version": VERSION, "machine": self.machine, "measured": self.measured, "memcpy": self.memcpy,
                "spark": self.spark.to_dict(), "start": self.start, "answer": self.answer}

    def to_json(self) -> str:
        """The figures as text."""
        return json.dumps(self.to_dict(), indent=1)


def from_json(text: str) -> CalibrationTable:
    """The figures that `to_json` wrote; raises ValueError for anything else."""
    try:
        data = json.loads(text)
        if data.get("version") != VERSION:
            raise ValueError(f"they are not of version {VERSION}")
        return read(data)
    except (AttributeError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"they do not have the form of figures: {type(error).__name__}: {error}") from error


def read(data: Mapping[str, Any]) -> CalibrationTable:
    """The figures of plain values."""
    answer = {name: {kind: tuple(map(point, points)) for kind, points in kinds.items()}
              for name, kinds in data["answer"].items()}
    if not any(answer.values()):
        raise ValueError("they hold no figure")
    start = {name: positive(seconds) for name, seconds in data["start"].items()}
    return CalibrationTable(start, answer, positive(data["memcpy"]), str(data["machine"]),
                            str(data.get("measured", "")),
                            read_costs(data["spark"]))


def point(values: Sequence[float]) -> Point:
    """A point of measurement."""
    longest, ranges, nanoseconds = values
    return int(positive(longest)), int(positive(ranges)), positive(nanoseconds)


def positive(value: float) -> float:
    """A number that time may take: costs are compared by their logarithms."""
    if not isfinite(value) or value <= 0:
        raise ValueError(f"{value} is no measured time")
    return float(value)


def kind_of(operation: Operation, types: Types) -> str:
    """The kind of value whose figures stand for an operation: selecting costs as max does, bits as integers."""
    if operation.ufunc is None:
        return operation.priced_as or "moments"
    number = "float64" if types[0].kind == "f" else "int64"
    return f"{'max' if operation.idempotent else 'add'} {number}"


def between(points: Sequence[Point], longest: int, ranges: int) -> float:
    """The nanoseconds at a point from the four around it, all on logarithmic scales; the nearest beyond the edge."""
    table = {(n, q): t for n, q, t in points}
    spans, counts = sorted({n for n, _ in table}), sorted({q for _, q in table})
    (n0, n1, x), (q0, q1, y) = around(spans, longest), around(counts, ranges)
    corners = ((n0, q0, (1 - x) * (1 - y)), (n1, q0, x * (1 - y)), (n0, q1, (1 - x) * y), (n1, q1, x * y))
    return exp(sum(weight * log(nearest(table, n, q)) for n, q, weight in corners))


def around(marks: Sequence[int], value: int) -> tuple[int, int, float]:
    """The marks below and above a value, and how far it lies between them."""
    inside = min(max(value, marks[0]), marks[-1])
    high = next(m for m in marks if m >= inside)
    low = max((m for m in marks if m <= inside), default=high)
    return low, high, 0.0 if low == high else log(inside / low) / log(high / low)


def nearest(table: dict[tuple[int, int], float], n: int, q: int) -> float:
    """The figure at a point, or where there is none that of the nearest span, grown as it grows for other counts.

    What was not measured was too slow, or had more ranges than slices.
    """
    if (n, q) in table:
        return table[n, q]
    near = min((m for m, p in table if p == q), key=lambda m: abs(log(m / n)))
    growth = [t / table[near, p] for (m, p), t in table.items() if m == n and (near, p) in table]
    return table[near, q] * max(growth, default=1.0)


@dataclass(frozen=True)
class Found:
    """The figures in use, the file of the machine's own if there is one, and why that one is not used."""

    figures: CalibrationTable
    own: Path | None = None
    fault: str = ""


def current_figures() -> CalibrationTable:
    """This machine's own figures if it has been calibrated, else those that Weft ships."""
    return find_figures().figures


def find_figures() -> Found:
    """The figures in use and where they are from."""
    try:
        path = figures_path()
        return read_own(path, *version_of(path))
    except (FileNotFoundError, NotADirectoryError, RunError):
        return Found(default_figures())


@cache
def default_figures() -> CalibrationTable:
    """The figures that Weft ships."""
    return from_json((files("weft.cost") / "default.json").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def read_own(path: Path, changed: int, size: int) -> Found:
    """The machine's own figures, read once for each version of the file, so that a broken one is told once."""
    try:
        return Found(from_json(path.read_text(encoding="utf-8")), path)
    except (OSError, ValueError) as error:
        fault = (f"this machine's figures in '{path}' cannot be used: {error}. Weft uses those it ships: run "
                 f"`weft calibrate` to measure again, or `weft calibrate --reset` to remove them.")
        warnings.warn(fault, FiguresWarning, stacklevel=2)
        return Found(default_figures(), path, fault)


def version_of(path: Path) -> tuple[int, int]:
    """When a file was changed and how long it is; raises FileNotFoundError where there is none."""
    try:
        status = path.stat()
    except PermissionError:  # reading it says so
        return 0, 0
    return status.st_mtime_ns, status.st_size


def figures_path() -> Path:
    """Where this machine's own figures are kept."""
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    except RuntimeError as error:
        raise RunError("there is no home folder to keep figures in: set XDG_CACHE_HOME.") from error
    return home / "weft" / "figures.json"


def check_place(path: Path) -> None:
    """Make the folder of a figures file; raises RunError where the file could not be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise unwritable(path, "it is a folder" if path.is_dir() else "its folder is read-only")


def keep_figures(figures: CalibrationTable, path: Path) -> None:
    """Write the figures beside their place, then move them there: nobody ever reads half a file."""
    check_place(path)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        beside.write_text(figures.to_json(), encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        beside.unlink(missing_ok=True)


def unwritable(path: Path, reason: OSError | str) -> RunError:
    """The error for figures that cannot be kept."""
    why = reason if isinstance(reason, str) else reason.strerror or str(reason)
    return RunError(f"cannot write the figures to '{path}': {why}. Set XDG_CACHE_HOME to a folder that can be written.")


def remove_figures(path: Path) -> bool:
    """Remove the machine's own figures, and say whether there were any."""
    try:
        path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise RunError(f"cannot remove the figures in '{path}': {error.strerror or error}.") from error
    return True
