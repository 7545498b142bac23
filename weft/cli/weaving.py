"""From a project to a Loom that holds its sources and queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from weft.cli.aggregates import load_aggregate
from weft.cli.faults import Fault, Faulty, fault_of
from weft.cli.output import Report
from weft.cli.project import ALL, Project, ProjectSource
from weft.cli.queries import QuerySet, QueryText, missing, read_queries
from weft.cli.start import start_session
from weft.cli.tables import counted
from weft.cli.toml import FILE
from weft.errors import QueriesError, WeftError

if TYPE_CHECKING:
    from weft.loom import Loom


@dataclass(frozen=True)
class LoadedProject:
    """A loom with the queries, if all of them passed, and the faults."""

    loom: Loom
    queries: tuple[QueryText, ...]
    faults: tuple[Fault, ...] = ()


def bind_project(project: Project, only: Iterable[str], report: Report) -> LoadedProject:
    """A loom with the project's sources and queries; every fault is kept, not only the first."""
    found = read_queries(project.folder, project.files)
    wanted = select(found, tuple(only))
    loom = new_loom(project)
    said = (*found.faults, *unknown_bounds(project, found))
    faults = [fault for source in project.sources if (fault := add_source(loom, source))]
    faults += [fault for name in project.aggregates if (fault := add_aggregate(loom, project, name))]
    if faults:  # a query of a missing source or aggregate would only repeat what is already said
        return LoadedProject(loom, (), (*said, *faults))
    report(0, 1, f"checking {counted(len(wanted), 'query')}")
    return LoadedProject(loom, wanted, (*said, *add_queries(loom, wanted, project.every, project.shed)))


def weave_all(project: Project, only: Iterable[str], report: Report) -> LoadedProject:
    """A loom in which every query passed; else raises all faults at once."""
    bound = bind_project(project, only, report)
    if bound.faults:
        raise Faulty(bound.faults)
    return bound


def read_texts(project: Project) -> dict[str, str]:
    """The SQL of every query of a project by its name, as whoever wrote it did; else raises all faults at once."""
    found = read_queries(project.folder, project.files)
    said = (*found.faults, *unknown_bounds(project, found))
    if said:
        raise Faulty(said)
    return texts_of(found)


def readable_texts(project: Project) -> dict[str, str]:
    """The SQL of those queries of a project that can be read now, whatever is wrong with its other files."""
    return texts_of(read_queries(project.folder, project.files))


def texts_of(found: QuerySet) -> dict[str, str]:
    """The SQL of queries by their names, without what the service writes above its own."""
    from weft.server.query_files import without_mark

    return {query.name: without_mark(query.sql) for query in found.queries}


def weave_texts(project: Project, texts: Mapping[str, str]) -> Loom:
    """A loom with the project's sources and these queries; else raises all faults at once."""
    loom = new_loom(project)
    faults = [fault for source in project.sources if (fault := add_source(loom, source))]
    faults += [fault for name in project.aggregates if (fault := add_aggregate(loom, project, name))]
    queries = [QueryText(name, sql, "") for name, sql in texts.items()]
    faults = faults or add_queries(loom, queries, project.every, project.shed)
    if faults:
        raise Faulty(tuple(faults))
    return loom


def select(found: QuerySet, names: tuple[str, ...]) -> tuple[QueryText, ...]:
    """The named queries, or all; a name that no query has is wrong usage, unless a file at fault may have it."""
    unknown = missing(found.queries, names)
    if unknown and not found.faults:
        raise typer.BadParameter(unknown, param_hint="query")
    return tuple(query for query in found.queries if not names or query.name in names)


def new_loom(project: Project) -> Loom:
    """An empty loom on a session with the project's settings."""
    spark = start_session(project.name, **project.spark)
    from weft.loom import Loom  # not before: it is imported while Spark starts

    return Loom(spark, max_bag_values=project.max_bag_values, every=project.every.get(ALL))


def add_source(loom: Loom, source: ProjectSource) -> Fault | None:
    """Adds a source, or says what is wrong with it."""
    try:
        loom.source(source.name, source.path, time=source.time, format=source.format, options=dict(source.options),
                    schema=source.schema, watermark=source.watermark, drop=source.drop)
    except WeftError as error:
        named = f"source '{source.name}'"
        reason = str(error) if named in str(error) else f"{named}: {error}"
        return Fault(reason, file=FILE, kind=type(error).__name__)
    return None


def add_aggregate(loom: Loom, project: Project, name: str) -> Fault | None:
    """Adds an aggregate of the project's own, or says what is wrong with it."""
    try:
        loom.aggregate(load_aggregate(project.folder, name, project.aggregates[name]))
    except WeftError as error:
        return Fault(str(error), file=FILE, kind=type(error).__name__)
    return None


def unknown_bounds(project: Project, found: QuerySet) -> Iterator[Fault]:
    """A fault for each bound of weft.toml that is no query's, unless a file at fault may have it."""
    for key, bounds in (("every", project.every), ("shed", project.shed)):
        for name in bounds:
            if name != ALL and not found.faults and (unknown := missing(found.queries, [name])):
                yield Fault(f"queries.{key}: {unknown}", file=FILE)


def add_queries(loom: Loom, queries: Iterable[QueryText], every: Mapping[str, str],
                shed: Mapping[str, str]) -> list[Fault]:
    """Adds all queries, with their bounds, or says what is wrong with each that cannot run."""
    texts = {query.name: query for query in queries}
    bounds, errors = ({name: bound for name, bound in given.items() if name in texts} for given in (every, shed))
    try:
        loom.add_queries({name: query.sql for name, query in texts.items()}, every=bounds, shed=errors)
    except QueriesError as error:
        each = ((fault, texts[fault.query]) for fault in error.errors)
        return [fault_of(fault, query.name, query.file, query.skipped) for fault, query in each]
    except WeftError as error:  # it is about the session, and not about one of the queries
        return [fault_of(error)]
    return []
