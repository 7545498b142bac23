"""Explaining a plan from the very stages that run: as text, as plain values, as a page."""

from __future__ import annotations

from dataclasses import dataclass

from weft.model.edges import composite_slide, count_edges
from weft.model.plan import Scan, SharedPlan
from weft.model.window import duration
from weft.stages.build import ScanStages
from weft.stages.definition import FinalStage
from weft.stages.picture import page, picture

NAMES_SHOWN = 6


@dataclass(frozen=True)
class Explanation:
    """What is shared: prints as text, shows as a picture in notebooks, and gives plain values to programs."""

    plan: SharedPlan
    stages: tuple[ScanStages, ...]

    def to_dict(self) -> dict:
        """The plan as plain values."""
        scans = [scan_dict(*pair) for pair in zip(self.plan.scans, self.stages, strict=True)]
        return {"optimizer": self.plan.optimizer, "totals": totals(self.plan, self.stages), "scans": scans}

    def __str__(self) -> str:
        plan = self.to_dict()
        return "\n".join([summary(plan["totals"]), *(line for scan in plan["scans"] for line in lines(scan))])

    def svg(self) -> str:
        """The plan as an SVG picture."""
        return picture(self.to_dict())

    def to_html(self) -> str:
        """The plan as a page of its own."""
        return page(self.svg(), str(self))

    def _repr_html_(self) -> str:
        return self.svg()


def totals(plan: SharedPlan, stages: tuple[ScanStages, ...]) -> dict:
    """How much the plan does, beside what the queries would do alone."""
    return {
        "queries": len(plan.queries),
        "scans": len(plan.scans),
        "trees": sum(len(scan.trees) for scan in plan.scans),
        "windows": sum(len(scan.windows) for scan in plan.scans),
        "components": sum(len(s.partial.components) for s in stages),
        "components_alone": sum(len(b.components) for b in plan.queries),
        "answer_stages": sum(len(tree.answers) for s in stages for tree in s.trees),
    }


def summary(total: dict) -> str:
    """One sentence on what is shared."""
    return (
        f"{many(total['queries'], 'query', 'queries')} in {many(total['scans'], 'scan')}: "
        f"{many(total['windows'], 'window')} over {many(total['components'], 'shared component')} "
        f"(alone: {many(total['queries'], 'scan')}, {many(total['components_alone'], 'component')}), "
        f"{many(total['answer_stages'], 'projection')}."
    )


def scan_dict(scan: Scan, stages: ScanStages) -> dict:
    """One scan as plain values."""
    partial = stages.partial
    return {
        "source": partial.source,
        "where": partial.where,
        "time": partial.time,
        "keys": list(partial.keys),
        "components": [str(c) for c in partial.components],
        "slices": slices_dict(scan),
        "trees": [
            {"windows": [str(w) for w in tree.windows], "queries": [b.query.name for b in tree.queries],
             "reads": {b.query.name: str(b.query.window) for b in tree.queries},
             "algorithms": algorithms_dict(built.final),
             "projections": [[name for name, _ in stage.queries] for stage in built.answers]}
            for tree, built in zip(scan.trees, stages.trees, strict=True)
        ],
    }


def algorithms_dict(final: FinalStage) -> dict[str, str]:
    """The algorithms that fold each component, several where grids differ."""
    chosen = {str(c): dict.fromkeys(names[i] for names in final.algorithms) for i, c in enumerate(final.components)}
    return {component: ", ".join(names) for component, names in chosen.items()}


def slices_dict(scan: Scan) -> dict:
    """How the scan's time is cut: the composite slide and the edges in it."""
    period = composite_slide(scan.windows)
    return {"composite_slide": duration(period), "edges": count_edges(scan.windows)}


def lines(scan: dict) -> list[str]:
    """One scan as lines of text."""
    where = f" where {scan['where']}" if scan["where"] else ""
    keys = ", ".join(scan["keys"]) or "(no keys)"
    edges = scan["slices"]["edges"]
    cut = "very many slices" if edges is None else many(edges, "slice")
    cut += f" every {scan['slices']['composite_slide']}"
    text = [f"scan {scan['source']}{where}", f"├─ partial: {cut}, by {keys}"]
    text += [f"│    {component}" for component in scan["components"]]
    for tree in scan["trees"]:
        size = f"{many(len(tree['queries']), 'query', 'queries')}, {many(len(tree['windows']), 'window')}"
        text.append(f"└─ tree of {size}")
        text += [f"     {window}: {names(tree, window)}" for window in tree["windows"]]
        text += [f"     {', '.join(folded)} by {algorithm}" for algorithm, folded in by_algorithm(tree).items()]
    return text


def by_algorithm(tree: dict) -> dict[str, list[str]]:
    """The components that each algorithm folds."""
    found: dict[str, list[str]] = {}
    for component, algorithm in tree["algorithms"].items():
        found.setdefault(algorithm, []).append(component)
    return found


def many(number: int, one: str, more: str = "") -> str:
    """A number with its noun."""
    return f"{number} {one if number == 1 else more or one + 's'}"


def names(tree: dict, window: str) -> str:
    """The queries that read a window, the first few by name."""
    found = [name for name, read in tree["reads"].items() if read == window]
    more = f" and {len(found) - NAMES_SHOWN} more" if len(found) > NAMES_SHOWN else ""
    return ", ".join(found[:NAMES_SHOWN]) + more
