"""`weft catalog`: shows what the catalog of a store holds, and takes queries out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer
from rich.console import RenderableType

from weft.catalog.database import FILE, Catalog, open_catalog
from weft.catalog.expressions import expressions
from weft.catalog.nodes import CatalogNode, nodes
from weft.catalog.plans import plans
from weft.catalog.registrations import plan_uses, registrations, remove_registration
from weft.catalog.scheduled import MOST as EVERY_RUN
from weft.catalog.scheduled import scheduled_runs
from weft.catalog.statistics import StoredSizes, statistics
from weft.cli.nearest import did_you_mean
from weft.cli.options import VIEWS
from weft.cli.output import CommandOutput
from weft.cli.project import Project, load_project
from weft.cli.tables import columns, counted, few
from weft.errors import CatalogError
from weft.io.formats import is_remote
from weft.model.window import measured
from weft.runner.reading import moment_text

LAST_RUNS = 20


@dataclass(frozen=True)
class Shown:
    """A view for machines and for people."""

    data: list[dict[str, Any]]
    pages: tuple[RenderableType, ...]


def show(output: CommandOutput, folder: Path | None, store: str | None, view: str, everything: bool) -> None:
    """Shows one view of the catalog."""
    if view not in VIEWS:
        raise typer.BadParameter(f"there is no view '{view}'. {did_you_mean(view, VIEWS)}", param_hint="VIEW")
    with open_catalog(place(folder, store), create=False) as catalog, catalog.reading():
        found = SHOWING[view](catalog, everything)
        output.show({"ok": True, "catalog": str(catalog.path), view: found.data}, *found.pages)


def take_out(output: CommandOutput, folder: Path | None, store: str | None, names: Sequence[str]) -> None:
    """Takes queries out of the catalog: all of them, or none where one is not there."""
    with open_catalog(place(folder, store), create=False) as catalog, catalog.changing():
        current = [found.name for found in registrations(catalog) if not found.removed]
        for name in names:
            if name not in current:
                raise typer.BadParameter(f"there is no query '{name}'. {did_you_mean(name, current)}",
                                         param_hint="--remove")
            remove_registration(catalog, name)
    output.show({"ok": True, "removed": list(names)}, f"Removed {', '.join(names)}.")


def place(folder: Path | None, text: str | None) -> Path:
    """Where the catalog is; a store that is named needs no project."""
    store = folder_of(text) if text is not None else load_project(folder).store
    if store is None:
        raise CatalogError("there is no catalog: this project keeps none. Name one with --store DIR.")
    return store / FILE


def chosen_store(project: Project, text: str | None) -> Path | None:
    """The store the user asks for, else the project's; a path on the command line is seen from where the user is."""
    return project.store if text is None else folder_of(text)


def folder_of(text: str) -> Path | None:
    """The folder that the command line names; "" stands for none."""
    if is_remote(text):
        raise typer.BadParameter(f"'{text}' is not on this machine: the catalog needs a local folder.",
                                 param_hint="--store")
    return Path(text) if text else None


def show_queries(catalog: Catalog, everything: bool) -> Shown:
    """The queries, and the node and plan that answer each."""
    found = [one for one in registrations(catalog) if everything or not one.removed]
    table = columns("query", "source", "window", "node", "plan", "registered", *(["removed"] if everything else []))
    for one in found:
        removed = [moment(one.removed)] if everything else []
        table.add_row(one.name, one.source, str(one.window), str(one.node or "–"), str(one.plan or "–"),
                      moment(one.registered), *removed)
    return Shown([asdict(one) for one in found], (table, counted(len(found), "query") + "."))


def show_nodes(catalog: Catalog, _: bool) -> Shown:
    """The nodes of the last plan, each below the one that it is computed from."""
    made = plans(catalog)
    if not made:
        return Shown([], ("There is no plan yet: `weft run` makes one.",))
    found = nodes(catalog, made[-1].version)
    reading: dict[int, list[str]] = {}
    for one in registrations(catalog):
        if one.plan == made[-1].version and one.node is not None and not one.removed:
            reading.setdefault(one.node, []).append(one.name)
    data = [{**asdict(node), "queries": reading.get(node.id, [])} for node in found]
    head = f"Plan {made[-1].version} by {made[-1].optimizer}, {moment(made[-1].made)}: {counted(len(found), 'node')}."
    return Shown(data, (head, *lattice(found, reading)))


def lattice(found: Sequence[CatalogNode], reading: dict[int, list[str]]) -> Iterator[str]:
    """Every source with the nodes that read it, and below each those that are computed from it."""
    for source in dict.fromkeys(node.source for node in found):
        yield source
        roots = [node for node in found if node.source == source and node.parent is None]
        yield from branches(roots, found, reading, "")


def branches(level: Sequence[CatalogNode], found: Sequence[CatalogNode], reading: dict[int, list[str]],
             indent: str) -> Iterator[str]:
    """Nodes side by side, each with what is computed from it."""
    for node in level:
        last = node is level[-1]
        below = indent + ("   " if last else "│  ")
        inner = [child for child in found if child.parent == node.id]
        stem = below + ("│    " if inner else "     ")
        yield f"{indent}{'└─' if last else '├─'} node {node.id}: by {', '.join(node.keys) or '(no keys)'}, {cuts(node)}"
        yield f"{stem}where {predicates(node)}" if any(node.predicates) else f"{stem}all rows"
        yield f"{stem}{few(node.columns, 6)}"
        if reading.get(node.id):
            yield f"{stem}read by {few(reading[node.id], 6)}"
        yield from branches(inner, found, reading, below)


def cuts(node: CatalogNode) -> str:
    """How a node cuts time, or rows."""
    texts = [f"every {measured(period, node.unit)}" + (f" from {measured(phase, node.unit)}" if phase else "")
             for phase, period in node.progressions]
    return f"cut {few(texts, 4)}"


def predicates(node: CatalogNode) -> str:
    """Which rows a node reads, and how its predicates share its slices."""
    texts = [predicate or "TRUE" for predicate in node.predicates]
    return few(texts, 4, " | ") + (f" (by {node.sharing})" if node.sharing else "")


def show_expressions(catalog: Catalog, _: bool) -> Shown:
    """The expressions, and the queries that use each."""
    found, used = expressions(catalog), plan_uses(catalog)
    table = columns("id", "source", "expression", "canonical form", "queries")
    for one in found:
        table.add_row(str(one.id), one.source, one.text, one.canonical, few(used.get(one.id, ["–"]), 4))
    return Shown([{**asdict(one), "queries": used.get(one.id, [])} for one in found], (table,))


def show_statistics(catalog: Catalog, _: bool) -> Shown:
    """What is known of the sizes of groupings."""
    found = statistics(catalog)
    table = columns("source", "where", "by", "known by", "node", "rows", "keys", "hours", "slices", "since")
    for one in found:
        sizes = one.sizes
        hours = "–" if sizes.span is None else f"{sizes.span / 3.6e9:.3g}"
        table.add_row(one.source, one.predicate or "–", ", ".join(one.keys) or "(no keys)", one.origin.value,
                      str(one.node or "–"), format_number(sizes.rows), format_number(sizes.keys), hours,
                      format_number(sizes.slices), moment(one.taken))
    return Shown([statistics_dict(one) for one in found], (table,))


def statistics_dict(one: StoredSizes) -> dict[str, Any]:
    """The sizes of a grouping as plain values; the span is in microseconds."""
    return {"source": one.source, "where": one.predicate, "time": one.time, "by": list(one.keys),
            "origin": one.origin.value, "node": one.node, **asdict(one.sizes), "taken": one.taken}


def show_plans(catalog: Catalog, _: bool) -> Shown:
    """The versions of the plan."""
    found = plans(catalog)
    table = columns("plan", "made", "optimizer", "queries", "scans", "seconds")
    for one in found:
        total = one.explanation["totals"]
        table.add_row(str(one.version), moment(one.made), one.optimizer, str(total["queries"]), str(total["scans"]),
                      f"{one.cost:.3g}")
    return Shown([asdict(one) for one in found], (table,))


def show_runs(catalog: Catalog, everything: bool) -> Shown:
    """The last runs of schedules, the newest first."""
    found = scheduled_runs(catalog, EVERY_RUN if everything else LAST_RUNS)
    table = columns("started", "seconds", "queries", "failed", "new files")
    for one in found:
        table.add_row(moment(moment_text(one.started)), f"{one.seconds:.2f}", few(one.queries, 4),
                      few(sorted(one.failed), 4) or "–", f"{one.new_files:,}")
    return Shown([{**asdict(one), "started": moment_text(one.started)} for one in found], (table,))


def format_number(value: float | None) -> str:
    """A count, or a dash where it is not known."""
    return "–" if value is None else f"{value:,.0f}"


def moment(text: str | None) -> str:
    """A time to the second."""
    return f"{text[:19].replace('T', ' ')} UTC" if text else "–"


SHOWING: dict[str, Callable[[Catalog, bool], Shown]] = dict(
    zip(VIEWS, (show_queries, show_nodes, show_expressions, show_statistics, show_plans, show_runs), strict=True)
)
