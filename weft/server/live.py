"""The stream of a service and its changes: put down first, then made, or kept for later where it cannot change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.server.journal import Journal, Pending, write_journal
from weft.server.replies import CONFLICT, RefusedRequest
from weft.server.worker import BusyError
from weft.spark.stream.progress import format_time
from weft.stages.explain import Explanation

if TYPE_CHECKING:
    from weft.spark.stream.handle import Stream

Start = Callable[[Mapping[str, str]], "Stream"]  # starts the stream of some texts by the checkpoint
WAITING = {"kind": "waits", "reason": "This stream's queries are fixed while it has this checkpoint: the query is kept "
           "in the project, and runs when the service is started on a new checkpoint and sink."}
FIXED = ("this stream's queries are fixed while it has its checkpoint: stop the service, change the project, and start "
         "it with a new checkpoint and a new sink.")


class StreamChanges:
    """A running stream, what it runs, and the journal of that."""

    def __init__(self, stream: Stream, journal: Journal, folder: Path, every: Callable[[str], str | None],
                 earlier: tuple[Mapping[str, Any], ...] = (), followed: Callable[[Stream], None] = lambda stream: None):
        self.stream, self.journal, self._folder = stream, journal, folder
        self._every, self._earlier, self._followed = every, earlier, followed

    @property
    def can_change(self) -> bool:
        """Whether queries come and go while it runs."""
        return hasattr(self.stream, "add") and getattr(self.stream, "live", True) is not None

    @property
    def running(self) -> Mapping[str, str]:
        """The SQL of each query that runs."""
        return self.journal.running

    def state_of(self, name: str, sql: str) -> tuple[str, str]:
        """Whether a query of the project runs, and if not, why."""
        if name not in self.running:
            return "waits", WAITING["reason"]
        if self.running[name] != sql:
            return "changed", f"Its text is another now, and the stream runs the old one: {FIXED}"
        return "runs", ""

    def explain(self) -> Explanation:
        """The plan that runs, after whatever changes."""
        return self.stream.explain()

    def weavings(self) -> list[dict[str, Any]]:
        """When the plan was woven anew by itself, and what came of it, the oldest first."""
        return list(self._weaver.weavings) if self._weaver else []

    def when_woven(self, call: Callable[[], None]) -> None:
        """Have something called whenever the plan was woven anew by itself."""
        if self._weaver:
            self._weaver.when_woven = call

    @property
    def _weaver(self) -> Any:
        return getattr(getattr(self.stream, "live", None), "weaver", None)

    def decisions(self) -> list[dict[str, Any]]:
        """What the controller decided, of earlier starts too, the oldest first."""
        now = [{"at": one.at, "kind": one.kind, "trigger": one.settings.trigger, "shares": dict(one.settings.shares),
                "reason": one.reason} for one in list(self.stream.decisions)]
        return [{**one, "at": moment(one["at"])} for one in (*self._earlier, *now)]

    def restores(self, name: str, sql: str, texts: Callable[[], Mapping[str, str]]) -> bool:
        """Whether a query that was dropped though its file is not the service's comes back by that file; `texts` gives
        those that the project has now, for the file may be gone, and then the query is one like any other."""
        if name not in self.journal.dropped or name not in (found := texts()):
            return False
        if found[name] != sql:
            raise RefusedRequest(CONFLICT, f"query '{name}' was dropped here, and its file was not written here: give "
                                           "it the SQL of that file to have it back, or choose another name.")
        return True

    def preview(self, add: tuple[str, str] | None = None, drop: str | None = None) -> dict[str, Any]:
        """What a change would do; raises where it cannot be made."""
        if not self.can_change:
            return WAITING if add else {"kind": "waits", "reason": "It is not running yet: only the project changes."}
        live: Any = self.stream
        gone = [drop] if drop else [add[0]] if add and add[0] in self.running else []
        return plain_change(live.preview(add=dict([add]) if add else {}, drop=gone))

    def require_healthy(self) -> None:
        """Raise where the stream has failed: what was begun then is not forgotten for another change."""
        if self.stream.failure:
            raise BusyError(f"{self.stream.failure.rstrip('.')}. So the service ends: ask again once it runs again.")

    def require_change(self, name: str) -> None:
        """Raise where a query runs and the stream's queries are fixed, or where the stream has failed."""
        self.require_healthy()
        if name in self.running and not self.can_change:
            raise RefusedRequest(CONFLICT, FIXED)

    def may_run(self, name: str, sql: str) -> bool:
        """Whether a query runs with this text, or may at the next start: where the stream failed in the change, what
        its checkpoint has of it is known only then."""
        return self.journal.changed().get(name) == sql

    def add(self, name: str, sql: str) -> dict[str, Any]:
        """Let a query run, now or later."""
        after = replace(self.journal, dropped=without(self.journal.dropped, name))
        if not self.can_change:
            self._keep(after)
            return WAITING
        return self._make(after, Pending("add", name, sql), lambda live: live.add(name, sql, every=self._every(name)))

    def replace(self, name: str, sql: str) -> dict[str, Any]:
        """Let a query run with another text."""
        if not self.can_change or name not in self.running:
            return self.add(name, sql)
        return self._make(self.journal, Pending("replace", name, sql),
                          lambda live: live.replace(name, sql, every=self._every(name)))

    def drop(self, name: str, sql: str) -> dict[str, Any]:
        """Let a query of the project end; until `forget` it is known as dropped, so that no start brings it back."""
        after = replace(self.journal, dropped={**self.journal.dropped, name: sql})
        if name not in self.running:
            self._keep(after)
            return {"kind": "free", "reason": "It was not running yet."}
        return self._make(after, Pending("drop", name), lambda live: live.drop(name))

    def forget(self, name: str) -> None:
        """Forget that a query was dropped: its file is gone too."""
        self._keep(replace(self.journal, dropped=without(self.journal.dropped, name)))

    def _make(self, after: Journal, change: Pending, act: Callable[[Any], Any]) -> dict[str, Any]:
        """Make a change that is put down before, in the journal as it is afterwards, and after; where it is refused,
        the journal is as it was."""
        self.require_healthy()
        before = self.journal
        self._keep(after.begun(change))
        try:
            made = plain_change(act(self.stream))
        except Exception:
            if not self.stream.failure:  # else the checkpoint may have the change: the next start looks
                self._keep(before)
            raise
        self.journal = self.journal.done()  # it runs, also where that cannot be put down
        self._keep(self.journal)
        self._followed(self.stream)
        return made

    def _keep(self, journal: Journal) -> None:
        write_journal(self._folder, journal)
        self.journal = journal


def without(texts: Mapping[str, str], name: str) -> dict[str, str]:
    """The texts but one."""
    return {each: sql for each, sql in texts.items() if each != name}


def plain_change(change: Any) -> dict[str, Any]:
    """What a change did or would do, as plain values; of nodes and columns only how many."""
    found = {each.name: getattr(change, each.name) for each in fields(change)}
    counts = {key: len(value) for key, value in found.items() if key in ("kept", "added", "freed")}
    return {**{key: plain(value) for key, value in found.items()}, **counts}


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def moment(seconds: float) -> str | None:
    """A time of the controller's as machines read it."""
    return format_time(datetime.fromtimestamp(seconds, UTC))
