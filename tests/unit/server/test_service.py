"""The service without Spark: what is added, replaced and dropped, kept through any kill, and refused whole."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.server.fake_stream import FakeDrafts, FixedStream, LiveStream, start_of
from weft.errors import RunError, WeftError
from weft.server.history import TriggerHistory
from weft.server.journal import Journal, Pending, read_journal, write_journal
from weft.server.live import StreamChanges
from weft.server.query_files import QueryFiles, without_mark
from weft.server.replies import RefusedRequest
from weft.server.resume import first_texts, reconcile, resume, tidy_journal
from weft.server.service import Service, ServicePlaces
from weft.server.worker import BusyError
from weft.spark.stream.metrics import MetricsListener
from weft.spark.stream.progress import ScanMetrics, Totals


class Meter:
    """A meter of a scan that runs."""

    def readings(self) -> tuple[ScanMetrics, ...]:
        return (ScanMetrics("scan", True, Totals(1, 5, {"mean": 3})),)

    def totals(self) -> Totals:
        return Totals(1, 5, {"mean": 3})


def texts_of(project: Path) -> dict[str, str]:
    """The texts of a project's files."""
    return {path.stem: without_mark(path.read_text()).strip() for path in sorted((project / "queries").glob("*.sql"))}


def page_of(checkpoint: Mapping[str, str], texts: Mapping[str, str]) -> Any:
    """The page of a checkpoint, which has texts where its queries have changed."""
    return SimpleNamespace(queries=dict(checkpoint), texts=dict(texts)) if checkpoint else None


def started(project: Path, checkpoint: dict[str, str], kind: type[FixedStream] = LiveStream,
            changed: bool = True) -> Service:
    """A service of a project, started as `weft serve` does, on a checkpoint whose queries have changed or not."""
    files = QueryFiles(project / "queries")
    journal, wanted = tidy_journal(project / "serve", "ck", files, texts_of(project))
    page = page_of(checkpoint, checkpoint if changed else {})
    stream, journal = resume(start_of(checkpoint, kind), project / "serve", journal, page, wanted)
    changes = StreamChanges(stream, journal, project / "serve", lambda name: None)
    list(reconcile(changes, wanted))
    service = Service("p", ServicePlaces(files), Meter(), TriggerHistory())  # type: ignore[arg-type]
    service.drafts, service.stream = FakeDrafts(wanted), changes  # type: ignore[assignment]
    service.project_texts = lambda: texts_of(project)
    service.refresh()
    return service


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / "mean.sql").write_text("SELECT mean\n")
    (tmp_path / "queries" / "sum.sql").write_text("SELECT sum\n")
    return tmp_path


def test_a_query_comes_changes_and_goes(project: Path) -> None:
    checkpoint: dict[str, str] = {}
    service = started(project, checkpoint)
    made = service.add("high", "SELECT high")["change"]
    assert made["kind"] == "free" and made["kept"] == 2 and "high" in made["queries"]
    assert checkpoint["high"] == texts_of(project)["high"] == "SELECT high"
    listed = {one["name"]: one for one in service.queries()}
    assert listed["high"]["state"] == "runs" and listed["high"]["kept_here"] and not listed["mean"]["kept_here"]
    service.replace("high", "SELECT higher")
    assert checkpoint["high"] == texts_of(project)["high"] == "SELECT higher"
    assert started(project, checkpoint).stream.running["high"] == "SELECT higher"  # type: ignore[union-attr]
    service.drop("high")
    assert "high" not in checkpoint and "high" not in texts_of(project)
    told = [(one["act"], one["query"]) for one in service.decisions()["changes"]]
    assert told == [("add", "high"), ("replace", "high"), ("drop", "high")]


def test_somebodys_own_query_is_dropped_and_its_file_stays(project: Path) -> None:
    checkpoint: dict[str, str] = {}
    service = started(project, checkpoint)
    service.drop("mean")
    assert "mean" not in checkpoint and (project / "queries" / "mean.sql").exists()
    again = started(project, checkpoint)
    assert "mean" not in checkpoint and [one["name"] for one in again.queries()] == ["sum"]
    with pytest.raises(RefusedRequest, match="give it the SQL of that file to have it back"):
        again.add("mean", "SELECT other")
    again.add("mean", "SELECT mean")
    assert checkpoint["mean"] == "SELECT mean" and read_journal(project / "serve").dropped == {}
    again.drop("mean")
    (project / "queries" / "mean.sql").write_text("SELECT mean, more\n")  # who edits it wants it
    started(project, checkpoint)
    assert checkpoint["mean"] == "SELECT mean, more"


def test_a_replaced_query_has_the_bound_that_the_project_gives_it(tmp_path: Path) -> None:
    stream = LiveStream({"mean": "SELECT mean"})
    changes = StreamChanges(stream, Journal("ck", {"mean": "SELECT mean"}), tmp_path, {"mean": "1 minute"}.get)  # type: ignore
    changes.replace("mean", "SELECT other")
    assert stream.every == {"mean": "1 minute"}


def scan_of(key: str, **answers: int) -> Any:
    """A running scan with one trigger."""
    counts = f"t {','.join(map(str, answers.values()))}"
    done = {"id": key, "batchId": 0, "timestamp": "2024-05-01T12:00:00.000Z",
            "observedMetrics": {"answers": {"counts": [counts]}}}
    query = SimpleNamespace(id=key, isActive=True, recentProgress=[SimpleNamespace(json=json.dumps(done))])
    labels = {"t": tuple((name,) for name in answers)}
    return SimpleNamespace(name=f"scan-{key}", queries=tuple(answers), labels=labels, query=query)


def test_a_scan_that_goes_leaves_the_service_well_and_its_answers_counted(project: Path) -> None:
    service, now = started(project, {}), datetime.now(UTC)
    service.meter = meter = MetricsListener()
    meter.follow([scan_of("a", mean=3, sum=1), scan_of("b", sum=4)])  # sum has moved
    assert service.metrics(now).count(b'weft_answers_total{query="sum"}') == 1
    meter.end("a")
    assert not service.health(now)["ok"]
    meter.follow([scan_of("b", sum=4)])
    assert service.health(now)["ok"] and [one["scan"] for one in service.live(0, now)["scans"]] == ["scan-b"]
    assert {one["name"]: one["answers"] for one in service.queries()} == {"mean": 3, "sum": 5}
    text = service.metrics(now).decode()
    assert 'weft_answers_total{query="sum"} 5.0' in text and "scan-a" not in text


@pytest.mark.parametrize("sql", ["SELECT mean", "SELECT another"])
def test_a_dropped_query_whose_file_is_gone_is_kept_when_it_comes_again(project: Path, sql: str) -> None:
    checkpoint: dict[str, str] = {}
    service = started(project, checkpoint)
    service.drop("mean")
    (project / "queries" / "mean.sql").unlink()
    service.add("mean", sql)
    assert checkpoint["mean"] == texts_of(project)["mean"] == sql and service.places.files.is_ours("mean")
    assert read_journal(project / "serve").dropped == {}
    again = started(project, checkpoint)
    assert checkpoint["mean"] == again.stream.running["mean"] == sql  # type: ignore[union-attr]


def test_a_dropped_query_whose_file_was_edited_comes_back_by_that_file(project: Path) -> None:
    service = started(project, checkpoint := {})
    service.drop("mean")
    (project / "queries" / "mean.sql").write_text("SELECT edited\n")
    with pytest.raises(RefusedRequest, match="the SQL of that file"):
        service.add("mean", "SELECT mean")
    service.add("mean", "SELECT edited")
    assert checkpoint["mean"] == "SELECT edited" and not service.places.files.is_ours("mean")


@pytest.mark.parametrize(("act", "reason"), [
    (lambda s: s.add("mean", "SELECT x"), "already a query 'mean'"),
    (lambda s: s.add("../x", "SELECT x"), "cannot name"),
    (lambda s: s.add("new", "SELECT wrong"), "there is no column"), (lambda s: s.drop("none"), "there is no query"),
    (lambda s: s.replace("none", "SELECT x"), "there is no query"),
    (lambda s: s.replace("mean", "SELECT x"), "was not written here"),
    (lambda s: s.add("new", "SELECT refuse"), "cannot take it"), (lambda s: s.add("new", "SELECT crash"), "foresaw"),
    (lambda s: s.add("new", "-- name: x\nSELECT"), "one query"),
    (lambda s: s.explain("none"), "there is no query"), (lambda s: s.answers("none", 1), "there is no query"),
    (lambda s: s.check("../x", "SELECT 1"), "cannot name"), (lambda s: s.check_drop("none"), "there is no query"),
])
def test_what_is_refused_changes_nothing(project: Path, act: Callable[[Service], Any], reason: str) -> None:
    checkpoint: dict[str, str] = {}
    service = started(project, checkpoint)
    before = texts_of(project), dict(checkpoint), read_journal(project / "serve"), dict(service.drafts.texts)  # type: ignore
    with pytest.raises((WeftError, ValueError), match=reason):
        act(service)
    assert before == (texts_of(project), checkpoint, read_journal(project / "serve"), service.drafts.texts)  # type: ignore


def test_a_project_that_reads_no_such_file_keeps_no_query(project: Path) -> None:
    service = started(project, {})
    service.can_keep = lambda name: False
    with pytest.raises(RefusedRequest, match=r"weft\.toml reads no such file"):
        service.add("new", "SELECT x")


def test_a_check_says_what_is_wrong_where(project: Path) -> None:
    service = started(project, {})
    found = service.check("", "SELECT wrong")
    assert not found["ok"] and (found["errors"][0]["line"], found["errors"][0]["column"]) == (1, 8)
    good = service.check("high", "SELECT high")
    assert good["ok"] and good["change"]["reason"] == "It takes effect with the next trigger."
    assert service.check_drop("mean")["ok"] and sorted(service.drafts.texts) == ["mean", "sum"]  # type: ignore


def test_a_stream_that_cannot_change_keeps_queries_for_later(project: Path) -> None:
    checkpoint: dict[str, str] = {}
    service = started(project, checkpoint, FixedStream)
    assert service.add("high", "SELECT high")["change"]["kind"] == "waits"
    for act in (lambda: service.drop("mean"), lambda: service.check_drop("mean")):
        with pytest.raises(RefusedRequest, match="fixed while it has its checkpoint"):
            act()
    again = started(project, checkpoint, FixedStream)  # on the same checkpoint: as it was
    assert {one["name"]: one["state"] for one in again.queries()} == {"mean": "runs", "sum": "runs", "high": "waits"}
    assert "new checkpoint" in again.explain("high")["note"]
    again.replace("high", "SELECT higher")
    again.drop("high")
    assert "high" not in texts_of(project)
    (project / "queries" / "mean.sql").write_text("SELECT other\n")
    edited = started(project, checkpoint, FixedStream)
    assert {one["name"]: one["state"] for one in edited.queries()} == {"mean": "changed", "sum": "runs"}
    assert set(started(project, {}, FixedStream).stream.running.values()) == {"SELECT other", "SELECT sum"}  # type: ignore


def test_the_last_query_stays(project: Path) -> None:
    service = started(project, {})
    service.drop("mean")
    with pytest.raises(RefusedRequest, match="only query"):
        service.drop("sum")


def test_a_checkpoint_of_unknown_queries_is_refused(project: Path) -> None:
    with pytest.raises(RunError, match="neither the project nor the service knows its SQL"):
        started(project, {"gone": "SELECT gone"}, changed=False)
    with pytest.raises(RunError, match="made for other queries"):
        started(project, {"mean": "SELECT another"}, changed=False)


def test_a_checkpoint_whose_queries_have_changed_knows_their_texts(project: Path) -> None:
    """Also where another journal says otherwise; then the stream is brought to what the project says."""
    write_journal(project / "serve", Journal("ck", {"mean": "SELECT mean", "sum": "SELECT old"}))
    page = {"mean": "SELECT another", "gone": "SELECT gone", "sum": "SELECT sum"}
    assert first_texts(read_journal(project / "serve"), page_of(page, page), {"sum": "SELECT wanted"}) == page
    service = started(project, page)
    assert page == service.stream.running == texts_of(project)  # type: ignore[union-attr]


class KilledError(BaseException):
    """The end of a process."""


def kill_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Ends the process at the so-manyth file that is put in place or removed, before or after it is."""
    left = [step]

    def killing(act: Callable[..., Any]) -> Callable[..., Any]:
        def done(*args: Any, **kwargs: Any) -> Any:
            for before in (True, False):
                left[0] -= 1
                if left[0] == 0:
                    raise KilledError
                if before:
                    found = act(*args, **kwargs)
            return found

        return done

    monkeypatch.setattr(pathlib.Path, "replace", killing(pathlib.Path.replace))
    for name in ("add", "drop", "replace"):
        monkeypatch.setattr(LiveStream, name, killing(getattr(LiveStream, name)))
    monkeypatch.setattr(os, "unlink", killing(os.unlink))


CHANGES: dict[str, tuple[Callable[[Service], Any], Mapping[str, str]]] = {
    "add": (lambda s: s.add("new", "SELECT new"), {"new": "SELECT new"}),
    "replace": (lambda s: s.replace("kept", "SELECT better"), {"kept": "SELECT better"}),
    "drop": (lambda s: s.drop("kept"), {}),
    "drop somebody's": (lambda s: s.drop("mean"), {}),
}


def changed_by(change: str, before: Mapping[str, str]) -> dict[str, str]:
    """What runs after one of the changes."""
    gone = {"drop": "kept", "drop somebody's": "mean"}.get(change)
    return {name: sql for name, sql in before.items() if name != gone} | dict(CHANGES[change][1])


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("step", range(1, 20))
def test_killed_at_any_step_it_goes_on(project: Path, monkeypatch: pytest.MonkeyPatch, change: str, step: int) -> None:
    """After a kill and a start the change is there whole or not at all, and what runs is what the project wants."""
    checkpoint: dict[str, str] = {}
    started(project, checkpoint).add("kept", "SELECT kept")
    before, act = dict(checkpoint), CHANGES[change][0]
    alike = {name: sql for name, sql in before.items() if name not in ("kept" if change != "add" else "new", "mean")}
    after = changed_by(change, before)
    service = started(project, checkpoint)
    with monkeypatch.context() as patched:
        kill_at(patched, step)
        with contextlib.suppress(KilledError):
            act(service)
    again = started(project, checkpoint)
    assert checkpoint in (before, after) and alike.items() <= checkpoint.items()
    assert again.stream.running == checkpoint  # type: ignore[union-attr]
    assert {one["name"]: one["state"] for one in again.queries()} == dict.fromkeys(checkpoint, "runs")
    assert read_journal(project / "serve").dropped.keys() == texts_of(project).keys() - checkpoint.keys()
    again.add("later", "SELECT later")
    assert checkpoint["later"] == "SELECT later"


@pytest.mark.parametrize("breaks", ["before", "after"])
@pytest.mark.parametrize("change", CHANGES)
def test_where_the_stream_fails_in_a_change_the_next_start_goes_on(project: Path, change: str, breaks: str) -> None:
    """Whether the checkpoint has the change is known only then; what others ask meanwhile does not hide it."""
    checkpoint: dict[str, str] = {}
    started(project, checkpoint).add("kept", "SELECT kept")
    act, after, service = CHANGES[change][0], changed_by(change, checkpoint), started(project, checkpoint)
    service.stream.stream.breaks = breaks  # type: ignore[union-attr]
    with pytest.raises(RunError, match="disk is full"):
        act(service)
    left = texts_of(project), read_journal(project / "serve")
    for other in (lambda: service.add("late", "SELECT late"), lambda: service.replace("kept", "SELECT late"),
                  lambda: service.drop("kept"), lambda: service.stream.replace("kept", "x")):  # type: ignore
        with pytest.raises(BusyError, match=r"could not go on with other queries: the disk is full\. So the"):
            other()
    assert left == (texts_of(project), read_journal(project / "serve"))
    again = started(project, checkpoint)
    assert checkpoint == after == again.stream.running  # type: ignore[union-attr]
    assert {one["name"]: (one["sql"], one["state"]) for one in again.queries()} == {
        name: (sql, "runs") for name, sql in checkpoint.items()}


def test_what_runs_is_kept_where_the_reply_fails(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint: dict[str, str] = {}
    service = started(project, checkpoint)
    with monkeypatch.context() as patched, pytest.raises(RunError, match="no picture"):
        patched.setattr(FixedStream, "explain", Mock(side_effect=RunError("no picture.")))
        service.add("new", "SELECT new")
    assert checkpoint["new"] == texts_of(project)["new"] == service.drafts.texts["new"]  # type: ignore[union-attr]
    writes = Mock(side_effect=[None, OSError("disk full")])  # of the change that is begun, and done
    with monkeypatch.context() as patched, pytest.raises(OSError, match="disk full"):
        patched.setattr("weft.server.live.write_journal", writes)
        service.add("more", "SELECT more")
    assert checkpoint == texts_of(project) == service.stream.running  # type: ignore[union-attr]


def test_a_refused_return_leaves_a_query_dropped(project: Path) -> None:
    (project / "queries" / "mean.sql").write_text("SELECT refuse\n")
    service = started(project, checkpoint := {"mean": "SELECT refuse", "sum": "SELECT sum"})
    service.drop("mean")
    before = read_journal(project / "serve")
    with pytest.raises(RunError, match="cannot take it"):
        service.add("mean", "SELECT refuse")
    assert read_journal(project / "serve") == before and before.dropped == {"mean": "SELECT refuse"}
    assert [one["name"] for one in started(project, checkpoint).queries()] == ["sum"]


@given(st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy")), st.sampled_from(["add", "drop", "replace"]),
       st.sampled_from("abc"), st.booleans())
def test_a_start_goes_on_with_what_the_stream_ran(running: dict[str, str], kind: str, name: str, made: bool) -> None:
    journal = Journal("ck", running, Pending(kind, name, "" if kind == "drop" else "z"))
    if (kind == "add") == (name in running) or not running:
        return
    truth = journal.changed() if made else running
    assert not truth or first_texts(journal, page_of(truth, truth if made else {}), {}) == truth


def test_a_journal_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "stream.json").write_text("{")
    with pytest.raises(RunError, match="move it away"):
        read_journal(tmp_path)
    write_journal(tmp_path, journal := Journal("ck", {"a": "x"}, Pending("drop", "a"), {"b": "y"}))
    assert read_journal(tmp_path) == journal and (tmp_path / "stream.json").stat().st_mode & 0o777 == 0o600
