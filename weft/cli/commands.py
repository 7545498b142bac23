"""What each command does, once its options are read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from weft.catalog.database import FILE
from weft.cli.catalog import chosen_store
from weft.cli.choice import PlanOptions
from weft.cli.forcing import chosen
from weft.cli.init import create_project
from weft.cli.output import AT_FAULT, CommandOutput, Report
from weft.cli.project import Project, keep_apart, load_project
from weft.cli.tables import counted, differences, read_lines, refreshed_lines, verdicts, written
from weft.cli.weaving import bind_project, weave_all
from weft.io.sinks import Sink, open_sink, parse_sink
from weft.spark.session.package_zip import package_zip

if TYPE_CHECKING:
    from weft.loom import Loom


def init(output: CommandOutput, folder: Path) -> None:
    """Writes a new project and says what to do next."""
    paths = create_project(folder)
    enter = "" if folder.resolve() == Path.cwd() else f"cd {folder} && "
    text = [f"A new project in {folder.resolve()}:", *(f"  {path}" for path in paths), f"Next: {enter}weft run"]
    output.show({"ok": True, "folder": str(folder.resolve()), "files": paths}, *text)


def check(output: CommandOutput, folder: Path | None, only: list[str]) -> None:
    """Lists every fault of the queries, or says that there is none."""
    project = load_project(folder)
    with output.progress("starting Spark") as report:
        bound = bind_project(project, only, report)
    if bound.faults:
        raise output.fail(bound.faults, AT_FAULT)
    if project.algorithm or project.optimizer:
        bound.loom.plan(**chosen(project, PlanOptions()))  # raises where they cannot plan what the queries ask
    require_writable(bound.loom, project.sink)
    names = [query.name for query in bound.queries]
    output.show({"ok": True, "queries": names, "errors": []}, f"{counted(len(names), 'query')} checked, no errors.")


def require_writable(loom: Loom, sink: Sink) -> None:
    """Raises where the project's sink cannot hold what a query gives."""
    # Spark takes a second to import: what needs no Spark must not wait for it.
    from weft.spark.write.guard import require_outputs

    require_outputs(loom.spark, open_sink(sink).facts, loom.queries)


def plan(output: CommandOutput, folder: Path | None, only: list[str], choice: PlanOptions, html: Path | None) -> None:
    """Shows the shared plan, and writes its page."""
    project = load_project(folder)
    made_with = chosen(project, choice)
    with output.progress("starting Spark") as report:
        loom = weave_all(project, only, report).loom
        with keeping(loom, known_store(project, choice)):
            measure(loom, choice, report)
            explanation = loom.explain(**made_with)
    if html:
        html.write_text(explanation.to_html(), encoding="utf-8")
    output.show(explanation.to_dict(), str(explanation), *([f"Wrote {html}"] if html else []))


def measure(loom: Loom, choice: PlanOptions, report: Report) -> None:
    """Counts the sources' rows where the user asks for it."""
    if choice.measure:
        report(0, 1, "measuring the sources")
        loom.measure()


@contextmanager
def keeping(loom: Loom, store: Path | None) -> Iterator[None]:
    """Gives the loom its store, if it shall have one: only now that all queries passed, so that none or all enter."""
    if store is not None:
        loom.attach(store)
    try:
        yield
    finally:
        loom.close()


def known_store(project: Project, choice: PlanOptions) -> Path | None:
    """The store that a plan reads; only what is measured makes one where there is none."""
    store = chosen_store(project, choice.store)
    return store if store is not None and (choice.measure or (store / FILE).exists()) else None


def run(output: CommandOutput, folder: Path | None, only: list[str], choice: PlanOptions, sink_text: str | None,
        incremental: bool = False, changes: str | None = None) -> None:
    """Runs the queries into the sink and lists what was written."""
    project = load_project(folder)
    if changes and not incremental:
        raise typer.BadParameter("only incremental runs tell what has changed: add --incremental.",
                                 param_hint="--changes")
    told = (changes or project.changes) if incremental else None
    sink, made_with = chosen_sink(project, sink_text), chosen(project, choice)
    store = chosen_store(project, choice.store)
    if incremental and store is None:
        raise typer.BadParameter("slices are kept in a store: give a folder with --store.", param_hint="--incremental")
    with output.progress("starting Spark") as report:
        bound = weave_all(project, only, report)
        with keeping(bound.loom, store):
            measure(bound.loom, choice, report)
            began = time.perf_counter()
            results = bound.loom.run(sink=sink_argument(sink), queries=only or None, progress=report,
                                     incremental=incremental, changes=told, **made_with)
    seconds = time.perf_counter() - began
    order = [query.name for query in bound.queries]
    rows = sorted(results.report, key=lambda item: order.index(item["query"]))
    data = {"ok": True, "sink": {"format": sink.format, "path": sink.path}, "seconds": round(seconds, 3)}
    sources = {"sources": list(results.sources)} if incremental else {}
    output.show({**data, **sources, "queries": rows}, *written(rows, sink, seconds), *read_lines(results.sources),
                *refreshed_lines(rows))


def verify(output: CommandOutput, folder: Path | None, only: list[str], choice: PlanOptions) -> None:
    """Compares every query with Spark's own answer and says where they differ."""
    project = load_project(folder)
    made_with = chosen(project, choice)
    with output.progress("starting Spark") as report:
        bound = weave_all(project, only, report)
        outcome = bound.loom.verify(queries=only or None, progress=report, **made_with)
    data: dict[str, Any] = {"ok": outcome.ok, **outcome.to_dict()}
    output.show(data, verdicts(outcome.results), *differences(outcome.results))
    if not outcome.ok:
        raise typer.Exit(AT_FAULT)


def package(output: CommandOutput, path: Path) -> None:
    """Writes the zip and says where it is."""
    written = package_zip(path)
    output.show({"ok": True, "path": written}, f"Wrote {written}")


def chosen_sink(project: Project, text: str | None) -> Sink:
    """The sink the user asks for, else the project's; a path on the command line is seen from where the user is."""
    if text is None:
        return project.sink
    sink = parse_sink(text, project.sink)
    for source in project.sources:
        keep_apart(source, sink.path)
    return sink


def sink_argument(sink: Sink) -> str | dict[str, str]:
    """The sink as `Loom.run` takes it."""
    return {"format": sink.format, "path": sink.path} if sink.path else sink.format
