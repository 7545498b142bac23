"""A project: the folder that holds weft.toml, and what that file says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.aggregates.component import MAX_BAG_VALUES
from weft.cli.serve_table import ServeTable, build_serve
from weft.cli.stream_table import StreamTable, build_stream
from weft.cli.toml import FILE, flat, read_toml
from weft.errors import PlanError, ProjectError, RunError
from weft.final.choose import EVERY, forced_pairs
from weft.io.formats import find_member, is_remote, list_members, locate
from weft.io.places import location_of, overlap
from weft.io.sinks import Sink, make_sink
from weft.io.sources import SOURCES
from weft.optimize.plan import find_optimizer

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
STORE = ".weft"
ALL = "*"
REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


@dataclass(frozen=True)
class ProjectSource:
    """One [sources.NAME] table; the path is absolute, or a URI."""

    name: str
    path: str
    time: str | None = None
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    watermark: str | None = None
    schema: str | None = None
    drop: float = 0.0


@dataclass(frozen=True)
class Project:
    """What weft.toml says, with every local path made absolute."""

    folder: Path
    name: str
    sources: tuple[ProjectSource, ...]
    sink: Sink
    files: tuple[str, ...] = ("queries/*.sql",)
    spark: Mapping[str, str] = field(default_factory=dict)
    algorithm: Mapping[str, str] = field(default_factory=dict)
    optimizer: str | None = None
    store: Path | None = None
    max_bag_values: int = MAX_BAG_VALUES
    aggregates: Mapping[str, str] = field(default_factory=dict)
    stream: StreamTable = field(default_factory=StreamTable)
    every: Mapping[str, str] = field(default_factory=dict)
    changes: str | None = None
    shed: Mapping[str, str] = field(default_factory=dict)
    serve: ServeTable = field(default_factory=ServeTable)


def find_project(start: Path) -> Path:
    """The nearest folder at or above `start` that holds weft.toml."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / FILE).is_file():
            return folder
    advice = "run `weft init` to make a project, or name one with --project."
    raise ProjectError(f"there is no {FILE} in '{start}' or above it: {advice}")


def load_project(folder: Path | None) -> Project:
    """The project in that folder, or the one around the working directory."""
    if folder is None:
        folder = find_project(Path.cwd())
    elif not (folder / FILE).is_file():
        raise ProjectError(f"there is no {FILE} in '{folder}': run `weft init {folder}` to make a project there.")
    folder = folder.resolve()
    project = build(folder, read_toml(folder / FILE))
    for source in project.sources:
        keep_apart(source, project.sink.path)
    return project


def build(folder: Path, data: Mapping[str, Any]) -> Project:
    """The project that the checked tables describe."""
    sink = data.get("sink", {})
    return Project(
        folder,
        data.get("project", {}).get("name", folder.name),
        tuple(build_source(folder, name, table) for name, table in required(data, "sources").items()),
        build_sink(folder, sink.get("format", "parquet"), sink.get("path", "out")),
        files=build_files(data.get("queries", {}).get("files", ["queries/*.sql"])),
        spark=build_spark(data.get("spark", {})),
        algorithm=build_algorithm(data.get("plan", {}).get("algorithm", {}), data.get("aggregates", {})),
        optimizer=build_optimizer(data.get("plan", {}).get("optimizer")),
        store=build_store(folder, data.get("run", {}).get("store", STORE)),
        max_bag_values=build_most(data.get("plan", {}).get("max_bag_values", MAX_BAG_VALUES)),
        aggregates=build_aggregates(data.get("aggregates", {})),
        stream=build_stream(folder, data.get("stream", {})),
        every=build_every(data.get("queries", {}).get("every")),
        changes=build_changes(folder, data.get("run", {}).get("changes")),
        shed=build_shed(data.get("queries", {}).get("shed", {})),
        serve=build_serve(folder, data.get("serve", {})),
    )


def build_source(folder: Path, name: str, table: Mapping[str, Any]) -> ProjectSource:
    """One source, with its name and its format checked."""
    if not NAME.fullmatch(name):
        raise ProjectError(f"{FILE}: source '{name}' cannot be named in SQL: use letters, digits and underscores.")
    path, format = required(table, "path", f"sources.{name}."), table.get("format")
    if format is not None and find_member(format, SOURCES) is None:
        known = list_members(SOURCES)
        raise ProjectError(f"{FILE}: sources.{name}.format '{format}' is unknown: write {known}.")
    place = locate(folder, path) if is_files(format) else path
    return ProjectSource(name, place, table.get("time"), format, dict(flat(table.get("options", {}))),
                  table.get("watermark"), table.get("schema"), table.get("drop", 0.0))


def build_sink(folder: Path, format: str, path: str) -> Sink:
    """The sink with its folder made absolute."""
    try:
        return make_sink(format, locate(folder, path))
    except RunError as error:
        raise ProjectError(f"{FILE}: sink: {error}") from error


def build_files(files: list[Any]) -> tuple[str, ...]:
    """The patterns of query files: at least one, each a string."""
    if not files or not all(isinstance(item, str) and item for item in files):
        raise ProjectError(f'{FILE}: queries.files must list at least one pattern, such as "queries/*.sql".')
    return tuple(files)


def build_every(value: str | Mapping[str, Any] | None) -> dict[str, str]:
    """The longest time between two answers of each query, `ALL` for those that name none: one, or a table of them."""
    if value is None:
        return {}
    # The SQL reader takes a while to import: commands that need no SQL must not wait for it.
    from weft.sql.freshness import parse_bound

    bounds = {ALL: value} if isinstance(value, str) else dict(value)
    for name, bound in bounds.items():
        try:
            parse_bound(bound)
        except PlanError as error:
            key = "queries.every" if isinstance(value, str) else f"queries.every.{name}"
            raise ProjectError(f"{FILE}: {key}: {str(error).removeprefix('every: ')}") from error
    return bounds


def build_shed(bounds: Mapping[str, Any]) -> dict[str, str]:
    """The error that each query accepts where rows are dropped."""
    from weft.sql.error_bounds import parse_error_bound

    for name, bound in bounds.items():
        try:
            parse_error_bound(bound)
        except PlanError as error:
            reason = str(error).removeprefix("shed: ").partition(" Write ")[0]
            raise ProjectError(f'{FILE}: queries.shed.{name}: {reason} Write {name} = "2%".') from error
    return dict(bounds)


def build_spark(table: Mapping[str, Any]) -> dict[str, str]:
    """Spark's settings by their full names."""
    options = dict(flat(table))
    for key in options:
        if not key.startswith("spark."):
            raise ProjectError(f"{FILE}: '{key}' in [spark] is no Spark setting: their names start with 'spark.'.")
    return options


def build_aggregates(table: Mapping[str, str]) -> dict[str, str]:
    """The user's aggregates: where the class or instance of each name is."""
    for name, reference in table.items():
        if not REFERENCE.fullmatch(reference):
            example = f'{name} = "aggregates:{name.title().replace("_", "")}"'
            raise ProjectError(f"{FILE}: aggregates.{name} '{reference}' names no class: write {example} for a class "
                               "in aggregates.py of this folder.")
    return dict(table)


def build_algorithm(value: str | dict[str, Any], defined: Iterable[str]) -> dict[str, str]:
    """The algorithm that folds each function, `EVERY` for all: one name, or a table of them."""
    named = {EVERY: value} if isinstance(value, str) else value
    try:
        return dict(forced_pairs({function: str(name) for function, name in named.items()}, defined))
    except PlanError as error:
        raise ProjectError(f"{FILE}: plan.algorithm: {error}") from error


def build_optimizer(name: str | None) -> str | None:
    """The name of an optimizer that there is, or None where Weft's own choice holds."""
    try:
        return None if name is None else find_optimizer(name).name
    except PlanError as error:
        raise ProjectError(f"{FILE}: plan.optimizer: {error}") from error


def build_store(folder: Path, path: str) -> Path | None:
    """The folder of the catalog; None, which "" stands for, keeps none."""
    if is_remote(path):
        raise ProjectError(f"{FILE}: run.store '{path}' is not on this machine: the catalog needs a local folder.")
    return folder / path if path else None


def build_changes(folder: Path, path: str | None) -> str | None:
    """The folder of changes; None, which "" stands for, where nobody wants them."""
    return locate(folder, path) if path else None


def build_most(value: int) -> int:
    """How many values of a holistic aggregate a worker may hold: at least one."""
    if value < 1 or isinstance(value, bool):
        raise ProjectError(f"{FILE}: plan.max_bag_values must be a whole number above 0.")
    return value


def required(table: Mapping[str, Any], key: str, prefix: str = "") -> Any:
    """A key that must be there and not be empty."""
    if not table.get(key):
        raise ProjectError(f"{FILE}: '{prefix}{key}' is missing.")
    return table[key]


def is_files(format: str | None) -> bool:
    """Whether a source of this format is a path of files, as it is where none is named."""
    found = find_member(format, SOURCES) if format is not None else None
    return found is None or found.facts.files


def keep_apart(source: ProjectSource, path: str | None, what: str = "sink") -> None:
    """Raises where a run would write over its own input, or read what it wrote."""
    if path and is_files(source.format) and overlap(location_of(source.path), location_of(path)):
        raise ProjectError(f"the {what} '{path}' and source '{source.name}' overlap: write to another folder.")
