"""001 Fig. 16: seconds to count the edges of many queries, and to plan them, by F1, bit set and probing.

    python bench/plan_counting.py [--quick]

Counted are the edges of one tree of all queries; what would take more than some twenty million steps is not waited for.
Planned is 001's workload by Weave Share, over kinds of equal edges or over single queries. One minute.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from plan_common import arguments, finish, results_for, say

from weft.cost.model import PaperModel, find_technique
from weft.model.edges import (
    composite_slide,
    count_edges,
    count_edges_bitset,
    count_edges_probing,
    edges_of,
    progressions,
)
from weft.model.window import Window
from weft.optimize.edges import BitSets, EdgeSets, ProgressionSets
from weft.optimize.problem import Problem, union_density
from weft.optimize.weaving import weave
from weft.testing.workloads import tri_workload, weave_workload

PATIENCE = 2e7  # steps
TERMS = 1 << 14
SIZES = (4, 8, 12, 16, 24, 32, 40, 64, 128, 256, 512, 1024, 4096, 16_384, 65_536)
PLANNED = {"kinds": (100, 1000, 10_000, 100_000), "queries": (50, 100, 200)}


def distinct(count: int) -> tuple[Window, ...]:
    """Slides 2 … n + 1, whose composite slide grows as fast as eⁿ."""
    return tuple(Window(slide, slide) for slide in range(2, count + 2))


WORKLOADS: dict[str, Callable[[int], tuple[Window, ...]]] = {
    "factors of 1,000, whole overlaps (001)": tri_workload,
    "factors of 100,000, real overlaps (000)": weave_workload,
    "slides 2 … n + 1": distinct,
}


def points_of(windows: Sequence[Window]) -> float:
    """Steps that marking every edge takes."""
    period = composite_slide(windows)
    return float(sum(Fraction(period, every) for _, every in progressions(windows)))


def probes_of(windows: Sequence[Window]) -> float:
    """Steps that probing takes, at most."""
    period = composite_slide(windows)
    return float(sum(Fraction(2 * i * period, w.slide) for i, w in enumerate(windows)))


def bits(windows: Sequence[Window]) -> int:
    """Edges counted in packed bits, as the optimizers do."""
    return int(union_density(tuple({edges_of(w) for w in windows})).value * composite_slide(windows))


WAYS: dict[str, tuple[Callable[..., Any], Callable[..., float]]] = {
    "F1": (lambda windows: count_edges(windows, TERMS), lambda windows: 0.0),
    "bit set": (count_edges_bitset, points_of),
    "probing": (count_edges_probing, probes_of),
    "packed bits": (bits, lambda windows: composite_slide(windows) / 8),
}


@dataclass(frozen=True)
class Counted(Problem):
    """A problem whose edges are counted in a way of one's choice."""

    f1: bool = False

    @cached_property
    def sets(self) -> EdgeSets:
        """Progressions for F1, else packed bits."""
        return ProgressionSets() if self.f1 else BitSets(1, composite_slide(self.windows))


def main() -> None:
    """Counts, then plans."""
    options = arguments(__doc__)
    sizes = SIZES[:8] if options.quick else SIZES
    results = results_for(options, sizes=sizes, counts=[], plans=[])
    for name, make in WORKLOADS.items():
        for size in sizes:
            results["counts"] += counts(name, make(size))
    for merged, numbers in PLANNED.items():
        for size in numbers[:2] if options.quick else numbers:
            results["plans"] += plans(merged, size)
    finish("plan_counting", results)


def counts(name: str, windows: tuple[Window, ...]) -> list[dict[str, Any]]:
    """One workload counted in every way; all who count must agree."""
    say(f"{len(windows)} queries, {name}")
    found = [{"workload": name, "queries": len(windows), "way": way} | counted(work, steps, windows)
             for way, (work, steps) in WAYS.items()]
    assert len({f["edges"] for f in found if f.get("edges") is not None}) <= 1, f"{name}: the counts differ"
    return found


def counted(work: Callable[..., Any], steps: Callable[..., float], windows: tuple[Window, ...]) -> dict[str, Any]:
    """The edges and the seconds one count takes, best of three if it is short; or why it was left."""
    if len(windows) > 1024 and composite_slide(windows) > 1e9:
        return {"skipped": "takes too long"}
    try:
        if steps(windows) > PATIENCE:
            return {"skipped": "takes too long"}
    except OverflowError:
        return {"skipped": "takes too long"}
    took: list[float] = []
    while not took or (len(took) < 3 and took[-1] < 0.3):
        begun = time.thread_time()
        edges = work(windows)
        took.append(time.thread_time() - begun)
    return {"skipped": "too many terms"} if edges is None else {"edges": edges, "seconds": min(took)}


def plans(merged: str, size: int) -> list[dict[str, Any]]:
    """Weave Share with F1 and with packed bits; both must make the same plan."""
    say(f"planning {size} queries by {merged}")
    windows, model = tri_workload(size), PaperModel(1.0, find_technique("panes"))
    found, groups = [], set()
    for way in ("F1", "packed bits"):
        begun = time.thread_time()
        problem = Counted(windows, model, by_query=merged == "queries", f1=way == "F1")
        groups.add(problem.groups(weave(problem)))
        found.append({"merged": merged, "queries": size, "way": way, "seconds": time.thread_time() - begun})
    return [f | {"same": len(groups) == 1} for f in found]


if __name__ == "__main__":
    main()
