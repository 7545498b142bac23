"""The service: a project that runs, and what may be asked of it and changed in it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError
from weft.io.latest import latest_lines, latest_rows
from weft.io.sinks import Sink
from weft.runner.reading import RunnerReading
from weft.server import endpoint, prometheus, schedule
from weft.server.drafts import Drafts, explain_query
from weft.server.history import TriggerHistory
from weft.server.live import StreamChanges
from weft.server.query_files import QueryFiles, require_name, require_sql
from weft.server.replies import CONFLICT, UNKNOWN, RefusedRequest, faults_of
from weft.server.schedule_runs import ScheduleRuns
from weft.server.worker import BusyError
from weft.spark.stream.progress import ScanMetrics, current_rates, format_time
from weft.stages.explain import Explanation

if TYPE_CHECKING:
    from weft.spark.stream.metrics import MetricsListener

MOST_CHANGES = 200
DEFAULT_NAME = "new_query"


@dataclass(frozen=True)
class ServicePlaces:
    """Where a project's queries, answers and dead letters are; None where there are none to show."""

    files: QueryFiles
    stream_sink: Sink | None = None
    schedule_sink: Sink | None = None
    dead_letters: str | None = None


@dataclass(frozen=True)
class ShownPlan:
    """The plan of what runs, as values, a picture, a page and a text."""

    data: Mapping[str, Any]
    svg: str
    html: str
    text: str

    @staticmethod
    def of(found: Explanation) -> ShownPlan:
        """The plan in all its forms."""
        return ShownPlan(found.to_dict(), found.svg(), found.to_html(), str(found))


class Service:
    """What runs and what is known of it. Looking is for any thread; what needs Spark is for the worker's alone."""

    def __init__(self, project: str, places: ServicePlaces, meter: MetricsListener, history: TriggerHistory):
        self.project, self.places, self.meter, self.history = project, places, meter, history
        self.since = datetime.now(UTC)
        self.drafts: Drafts | None = None
        self.stream: StreamChanges | None = None
        self.schedule: ScheduleRuns | None = None
        self.can_keep: Callable[[str], bool] = lambda name: True
        self.project_texts: Callable[[], Mapping[str, str]] = dict
        self.failure = ""
        self._plan: ShownPlan | None = None
        self._changes: deque[dict[str, Any]] = deque(maxlen=MOST_CHANGES)

    # What anybody may ask, at once.

    @property
    def ready(self) -> bool:
        """Whether all has started."""
        return self._plan is not None

    def state(self) -> dict[str, Any]:
        """What runs, in a few words."""
        return {"project": self.project, "ready": self.ready, "since": format_time(self.since),
                "failure": self.failure, "streams": self.stream is not None,
                "schedules": self.schedule is not None,
                "changes_at_once": self.stream is None or self.stream.can_change}

    def health(self, now: datetime) -> dict[str, Any]:
        """Whether everything that should run does."""
        scans = self.stream is None or all(one.active for one in self.meter.readings())
        runs = self.schedule is None or self.schedule.active
        return {"ok": self.ready and not self.failure and scans and runs, "ready": self.ready}

    def metrics(self, now: datetime) -> bytes:
        """All figures for Prometheus."""
        reading = self.schedule.reading() if self.schedule else None
        runs = prometheus.render(reading, now, schedule.METRICS) if reading else b""
        scans = prometheus.render(self.meter.readings(), now, prometheus.SCAN_METRICS)
        return scans + prometheus.render(self.meter.totals(), now, prometheus.QUERY_METRICS) + runs

    def live(self, after: int, now: datetime) -> dict[str, Any]:
        """The triggers after a number, and the totals and rates of each scan now."""
        return {**self.history.after(after), "now": format_time(now),
                "scans": [scan_dict(one, now) for one in self.meter.readings()],
                "schedule": reading_dict(self.schedule.reading()) if self.schedule else None}

    def plan(self) -> ShownPlan:
        """The plan of what runs."""
        if self._plan is None:
            raise BusyError("Spark is still starting: try again in a moment.")
        return self._plan

    def queries(self) -> list[dict[str, Any]]:
        """Every query: its SQL, whether it runs, what it costs and what sharing saves it, and its answers so far."""
        drafts, plan = self._drafts(), self.plan().data
        counts = self.meter.totals().answers
        running = self.stream.running if self.stream else {}
        scheduled = set(self.schedule.queries) if self.schedule else set()
        return [self._query(name, sql, running, scheduled, plan["queries"].get(name), counts.get(name, 0))
                for name, sql in {**running, **drafts.texts}.items()]

    def _query(self, name: str, sql: str, running: Mapping[str, str], scheduled: set[str],
               share: Mapping[str, float] | None, answers: int) -> dict[str, Any]:
        state, note = self.stream.state_of(name, sql) if self.stream else ("runs", "")
        if self.stream is None and name not in scheduled:
            state, note = "waits", "It has no bound, so the schedule leaves it out: add the hint EVERY('5 minutes')."
        return {"name": name, "sql": sql, "state": state, "note": note, "streams": name in running,
                "scheduled": name in scheduled, "kept_here": self.places.files.is_ours(name), "answers": answers,
                "cost": share["cost"] if share else None, "alone": share["alone"] if share else None,
                "saved": share["saved"] if share else None}

    def explain(self, name: str) -> dict[str, Any]:
        """One query: its SQL, where it stands in the plan, and what it costs."""
        found = next((one for one in self.queries() if one["name"] == name), None)
        if found is None:
            raise unknown(name)
        plan = self.plan().data
        return {**found, "plan": explain_query(name, plan) if name in plan["queries"] else None}

    def answers(self, name: str, count: int) -> dict[str, Any]:
        """The latest answers of a query."""
        found = next((one for one in self.queries() if one["name"] == name), None)
        if found is None:
            raise unknown(name)
        sink = self.places.stream_sink if found["streams"] else self.places.schedule_sink
        if sink is None or sink.path is None:
            return {"columns": [], "rows": [], "more": False, "note": "Its answers are in no folder that can be read."}
        rows = latest_rows(f"{sink.path.rstrip('/')}/{name}", sink.format, count)
        return {**rows.to_dict(), "note": "" if rows.rows else "There are no answers yet."}

    def dead_letters(self, count: int) -> dict[str, Any]:
        """The latest rows that could not be used, as they were kept."""
        place = self.places.dead_letters
        totals = self.meter.totals()
        return {"dead": totals.dead, "late": totals.late, "shed": totals.shed,
                "letters": latest_lines(place, count) if place else []}

    def decisions(self) -> dict[str, Any]:
        """What was decided and why: about dropping rows, about the schedule, and what was changed here."""
        return {"shedding": self.stream.decisions() if self.stream else [],
                "schedule": self.schedule.decisions() if self.schedule else None,
                "changes": sorted([*self._changes, *(self.stream.weavings() if self.stream else ())],
                                  key=lambda one: str(one["at"]))}

    def runs(self) -> list[dict[str, Any]]:
        """The last runs of the schedule, the newest last."""
        return [run.to_dict() for run in self.schedule.runs] if self.schedule else []

    # What is done in the worker's thread.

    def refresh(self) -> None:
        """Explain what runs now."""
        drafts = self._drafts()
        self._plan = ShownPlan.of(self.stream.explain() if self.stream else drafts.explain())

    def check(self, name: str, sql: str) -> dict[str, Any]:
        """What is wrong with a query, or what it would share, cost and need."""
        drafts, plain = self._drafts(), require_sql(sql)
        try:
            price = drafts.price(require_name(name or DEFAULT_NAME), plain)
            change = self._preview(name or DEFAULT_NAME, plain)
        except RefusedRequest:
            raise
        except WeftError as error:
            return {"ok": False, "errors": faults_of(error)}
        return {"ok": True, "errors": [], "price": price, "change": change}

    def check_drop(self, name: str) -> dict[str, Any]:
        """What would be if a query went."""
        self._require_droppable(name)
        change = self.stream.preview(drop=name) if self.stream else NOW
        return {"ok": True, "errors": [], "price": self._drafts().price_drop(name), "change": change}

    def _preview(self, name: str, sql: str) -> dict[str, Any]:
        if self.stream is None:
            return NOW
        return self.stream.preview(add=(name, sql))

    def add(self, name: str, sql: str) -> dict[str, Any]:
        """Add a query: it is checked, kept in the project, and runs as soon as it can; else nothing has changed."""
        drafts, plain = self._drafts(), require_sql(sql)
        if self.stream:
            self.stream.require_healthy()
        if self.stream and self.stream.restores(name, plain, self.project_texts):
            return self._tell("add", name, self._start(name, plain))
        require_name(name, {**drafts.texts, **(self.stream.running if self.stream else {})})
        if not self.can_keep(name):
            raise RefusedRequest(CONFLICT, "queries that are added here are kept in queries/NAME.sql, and weft.toml "
                                           'reads no such file: add "queries/*.sql" to files in [queries].')
        with drafts.with_query(name, plain):
            pass  # checked before anything is written
        self.places.files.write(name, plain)
        with self._undoing(name, plain, lambda: self.places.files.remove(name)):
            change = self._start(name, plain)
        return self._tell("add", name, change)

    def _start(self, name: str, sql: str) -> dict[str, Any]:
        """Bring a query that is kept into the drafts and to what runs."""
        drafts = self._drafts()
        drafts.add(name, sql)
        with self._undoing(name, sql, lambda: drafts.drop(name)):
            return self.stream.add(name, sql) if self.stream else NOW

    @contextmanager
    def _undoing(self, name: str, sql: str, undo: Callable[[], None]) -> Iterator[None]:
        """Undoes what was done for a change where the body raises, unless the change may have been made."""
        try:
            yield
        except Exception:
            if self.stream is None or not self.stream.may_run(name, sql):
                undo()
            raise

    def replace(self, name: str, sql: str) -> dict[str, Any]:
        """Give a query that was added here another text."""
        drafts, plain = self._drafts(), require_sql(sql)
        before = drafts.texts.get(name)
        if before is None:
            raise unknown(name)
        if not self.places.files.is_ours(name):
            raise RefusedRequest(CONFLICT, f"query '{name}' stands in a file that was not written here: change it "
                                           "there, and start the service again.")
        with drafts.with_query(name, plain):
            pass
        if self.stream:
            self.stream.require_change(name)
        self.places.files.write(name, plain)
        with self._undoing(name, plain, lambda: self.places.files.write(name, before)):
            change = self.stream.replace(name, plain) if self.stream else NOW
        drafts.add(name, plain)
        return self._tell("replace", name, change)

    def drop(self, name: str) -> dict[str, Any]:
        """Take a query away; a file that was not written here stays, and is left out from now on."""
        self._require_droppable(name)
        drafts, ours = self._drafts(), self.places.files.is_ours(name)
        change = self.stream.drop(name, drafts.texts[name]) if self.stream else NOW
        self.places.files.remove(name)
        if self.stream and ours:
            self.stream.forget(name)
        drafts.drop(name)
        return self._tell("drop", name, change)

    def _require_droppable(self, name: str) -> None:
        drafts = self._drafts()
        if name not in drafts.texts:
            raise unknown(name)
        if len(drafts.texts) == 1:
            raise RefusedRequest(CONFLICT, f"'{name}' is the only query: add another one first, or stop the service.")
        if self.stream:
            self.stream.require_change(name)
        elif not self.places.files.is_ours(name):
            raise RefusedRequest(CONFLICT, f"query '{name}' stands in a file that was not written here: take it out "
                                           "there, and start the service again.")

    def _tell(self, kind: str, name: str, change: Mapping[str, Any]) -> dict[str, Any]:
        """Note a change, let the schedule know, and show the plan that is now."""
        if self.schedule:
            texts = self._drafts().texts
            self.schedule.change({each: texts[each] for each in self._drafts().scheduled()})
        self._changes.append({"at": format_time(datetime.now(UTC)), "act": kind, "query": name, **change})
        self.refresh()
        return {"ok": True, "query": name, "change": dict(change)}

    def _drafts(self) -> Drafts:
        if self.drafts is None:
            raise BusyError("Spark is still starting: try again in a moment.")
        return self.drafts


NOW: dict[str, Any] = {"kind": "free", "reason": "It takes effect with the next run of the schedule."}


def unknown(name: str) -> RefusedRequest:
    """The error of a name that no query has."""
    return RefusedRequest(UNKNOWN, f"there is no query '{name[:64]}'.")


def scan_dict(one: ScanMetrics, now: datetime) -> dict[str, Any]:
    """A scan as a page shows it: totals, the pace of the last minute, and how far it is."""
    rates = current_rates(one.recent, now)
    return {"active": one.active, "totals": one.totals.to_dict(), "rows_per_second": rates.rows,
            "answers_per_second": dict(rates.answers), **endpoint.scan_health(one, now)}


def reading_dict(reading: RunnerReading | None) -> dict[str, Any] | None:
    """A runner as a page shows it."""
    if reading is None:
        return None
    return {**schedule.health(replace(reading, now=time.time_ns() // 1000), datetime.now(UTC)),
            "utilisation": reading.utilisation, "planned": reading.planned}
