"""What schedules leave: the runs there were and what they took, and for each query when it ran and is due again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from weft.catalog.database import Catalog

MOST = 10_000  # runs that are kept


@dataclass(frozen=True)
class RecordedRun:
    """A run of a schedule: when it started, in µs, its seconds, its queries, and why some of them failed.

    `steady` says that it did what every run does: it failed in nothing, read no source anew, and was not the first of
    its process, so that its seconds tell what such runs take.
    """

    started: int
    seconds: float
    queries: tuple[str, ...]
    failed: Mapping[str, str]
    new_files: int
    steady: bool


@dataclass(frozen=True)
class QueryState:
    """When a query is due and its last good run started, in µs; how often it failed since, and why the last time.

    `meaning` is a digest of what is answered and where it is written: of another, the answers are not there.
    """

    query: str
    meaning: str
    due: int
    started: int | None = None
    failures: int = 0
    reason: str = ""


def keep_run(catalog: Catalog, run: RecordedRun) -> None:
    """Put down a run; the oldest are forgotten."""
    with catalog.changing():
        made = catalog.change(
            """INSERT INTO scheduled_runs (started, seconds, queries, failed, new_files, steady)
               VALUES (?, ?, ?, ?, ?, ?)""",
            (run.started, run.seconds, json.dumps(run.queries), json.dumps(dict(run.failed)), run.new_files,
             int(run.steady)))
        catalog.change("DELETE FROM scheduled_runs WHERE id <= ?", (made - MOST,))


def scheduled_runs(catalog: Catalog, last: int) -> list[RecordedRun]:
    """The last so many runs, the newest first."""
    rows = catalog.rows("""SELECT started, seconds, queries, failed, new_files, steady FROM scheduled_runs
                           ORDER BY id DESC LIMIT ?""", (last,))
    return [RecordedRun(started, seconds, tuple(json.loads(queries)), json.loads(failed), new_files, bool(steady))
            for started, seconds, queries, failed, new_files, steady in rows]


def keep_states(catalog: Catalog, states: Iterable[QueryState]) -> None:
    """Put down the states of queries instead of those that were known."""
    with catalog.changing():
        for state in states:
            catalog.change("INSERT OR REPLACE INTO query_states VALUES (?, ?, ?, ?, ?, ?)",
                           (state.query, state.meaning, state.due, state.started, state.failures, state.reason))


def query_states(catalog: Catalog) -> dict[tuple[str, str], QueryState]:
    """The states of all queries by name and meaning."""
    rows = catalog.rows("SELECT query, meaning, due, started, failures, reason FROM query_states")
    return {(row[0], row[1]): QueryState(*row) for row in rows}
