"""Query files: one query a file, or several that `-- name:` lines introduce."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from weft.cli.faults import Fault
from weft.cli.nearest import did_you_mean

MARK = re.compile(r"\s*--\s*name:\s*(.*?)\s*")
# A query's name becomes a folder of the sink, so it has no separators and no leading dot.
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class QueryText:
    """One query's SQL, and where it stands: its first line is line `skipped` + 1 of the file."""

    name: str
    sql: str
    file: str
    skipped: int = 0


@dataclass(frozen=True)
class QuerySet:
    """The queries that could be read, and what is wrong with the others."""

    queries: tuple[QueryText, ...]
    faults: tuple[Fault, ...] = ()


def read_queries(folder: Path, patterns: Iterable[str]) -> QuerySet:
    """Every query of the files that match the patterns, in order."""
    queries: dict[str, QueryText] = {}
    faults = []
    for item in every(folder, patterns):
        fault = item if isinstance(item, Fault) else wrong(item, queries.get(item.name))
        if fault:
            faults.append(fault)
        elif isinstance(item, QueryText):
            queries[item.name] = item
    if not queries and not faults:
        faults.append(Fault("there is no query", hint="Write one to queries/NAME.sql."))
    return QuerySet(tuple(queries.values()), tuple(faults))


def every(folder: Path, patterns: Iterable[str]) -> Iterator[QueryText | Fault]:
    """The queries of every matching file, each file once."""
    seen: set[Path] = set()
    for pattern in patterns:
        files = matching(folder, pattern)
        if not files:
            yield Fault(f"'{pattern}' in queries.files matches no file")
        for file in files:
            if file not in seen:
                seen.add(file)
                yield from read_file(file, shown(folder, file))


def matching(folder: Path, pattern: str) -> list[Path]:
    """The files a pattern names, seen from the project folder, in order."""
    path = Path(pattern)
    root, rest = (Path(path.anchor), str(path.relative_to(path.anchor))) if path.is_absolute() else (folder, pattern)
    return sorted(file for file in root.glob(rest) if file.is_file())


def shown(folder: Path, file: Path) -> str:
    """The file's path as the user knows it."""
    return str(file.relative_to(folder)) if file.is_relative_to(folder) else str(file)


def read_file(file: Path, name: str) -> Iterator[QueryText | Fault]:
    """The queries of one file."""
    try:
        yield from split(file.read_text(encoding="utf-8-sig"), name, file.stem)
    except (OSError, UnicodeDecodeError) as error:
        yield Fault(f"cannot be read: {error}", file=name)


def split(text: str, file: str, stem: str) -> Iterator[QueryText | Fault]:
    """One query named after the file, or one for each `-- name:` line."""
    lines = text.split("\n")
    marks = [(number, match[1]) for number, line in enumerate(lines) if (match := MARK.fullmatch(line))]
    if not marks:
        yield QueryText(stem, text, file)
        return
    if not is_blank("\n".join(lines[: marks[0][0]])):
        yield Fault("SQL stands before the first '-- name:' line", file=file, line=1, hint="Give it a name line too.")
    stops = [number for number, _ in marks[1:]] + [len(lines)]
    for (number, name), stop in zip(marks, stops, strict=True):
        yield QueryText(name, "\n".join(lines[number + 1 : stop]), file, number + 1)


def wrong(query: QueryText, other: QueryText | None) -> Fault | None:
    """What forbids this query before anyone reads its SQL."""
    line = max(query.skipped, 1)
    if not NAME.fullmatch(query.name):
        hint = "A name starts with a letter or underscore and has only letters, digits, '_', '.' and '-'."
        return Fault(f"'{query.name}' is no name for a query", file=query.file, line=line, hint=hint)
    if other:
        reason = f"the name is taken by {other.file}:{max(other.skipped, 1)}"
        return Fault(reason, query.name, query.file, line, hint="Choose another.")
    if is_blank(query.sql):
        return Fault("there is no SQL", query.name, query.file, line, hint="Write a SELECT.")
    return None


def is_blank(sql: str) -> bool:
    """Whether a text holds only spaces, comments and semicolons."""
    return not re.sub(r"--[^\n]*|/\*.*?\*/", "", sql, flags=re.DOTALL).strip(" \t\r\n;")


def missing(queries: Iterable[QueryText], names: Iterable[str]) -> str | None:
    """A sentence about the first name that is no query's, or None where all are."""
    known = [query.name for query in queries]
    for name in names:
        if name not in known:
            return f"there is no query '{name}'. {did_you_mean(name, known)}"
    return None
