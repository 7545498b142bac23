"""Figures: nanoseconds per answer of each algorithm, measured at a few points and read between them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp, log
from pathlib import Path

from weft.aggregates.monoid import Monoid, Types

VERSION = 1
NANO = 1e-9

# A point of measurement: slices in the longest window, how many ranges, nanoseconds per answer.
Point = tuple[int, int, float]


@dataclass(frozen=True)
class Figures:
    """What each algorithm takes to start in a fresh worker, and per answer for each kind of value."""

    start: dict[str, float]
    answer: dict[str, dict[str, tuple[Point, ...]]]
    memcpy: float
    machine: str = ""

    def seconds(self, algorithm: str, kind: str, ranges: Sequence[int], cells: int) -> float | None:
        """What folding so many cells into windows of these ranges takes in a fresh worker; None if never measured."""
        points = self.answer.get(algorithm, {}).get(kind)
        if not points:
            return None
        each = between(points, max(ranges), len(ranges))
        return self.start.get(algorithm, 0.0) + each * NANO * cells * len(ranges)

    def to_json(self) -> str:
        """The figures as text."""
        data = {"version": VERSION, "machine": self.machine, "memcpy": self.memcpy, "start": self.start,
                "answer": self.answer}
        return json.dumps(data, indent=1)


def from_json(text: str) -> Figures:
    """The figures that `to_json` wrote; raises ValueError for anything else."""
    data = json.loads(text)
    if not isinstance(data, dict) or data.get("version") != VERSION:
        raise ValueError("these are no figures of this version of Weft")
    answer = {name: {kind: tuple((int(n), int(q), float(t)) for n, q, t in points) for kind, points in kinds.items()}
              for name, kinds in data["answer"].items()}
    return Figures(dict(data["start"]), answer, float(data["memcpy"]), str(data["machine"]))


def kind_of(monoid: Monoid, types: Types) -> str:
    """The kind of value whose figures stand for a monoid: selecting costs as max does, bits as integers."""
    if monoid.ufunc is None:
        return monoid.name if monoid.name in ("moments", "comoments") else "moments"
    number = "float64" if types[0].kind == "f" else "int64"
    return f"{'max' if monoid.idempotent else 'add'} {number}"


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
    """The figure at a point, or where there is none the worst of its row: what was not measured was too slow."""
    return table.get((n, q)) or max(t for (m, _), t in table.items() if m <= n)


def figures_path() -> Path:
    """Where this machine's own figures are kept."""
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(home) / "weft" / "figures.json"


@cache
def default_figures() -> Figures:
    """The figures that Weft ships."""
    return from_json((files("weft.cost") / "default.json").read_text(encoding="utf-8"))


def current_figures() -> Figures:
    """This machine's own figures if it has been calibrated, else those that Weft ships."""
    try:
        return from_json(figures_path().read_text(encoding="utf-8"))
    except (OSError, RuntimeError, ValueError, KeyError, TypeError):  # RuntimeError: there is no home
        return default_figures()
