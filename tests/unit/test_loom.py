"""A loom without Spark: whose session it stops."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from weft import Loom
from weft.errors import PlanError, QueryError, RunError
from weft.loom.schedule import plannable
from weft.model.workload import BoundQuery
from weft.spark.session.session import has_session
from weft.sql import SourceSchema


class Session(SimpleNamespace):
    """Counts how often it is stopped."""

    stopped, version = 0, "4.3.0"

    def stop(self) -> None:
        self.stopped += 1

    __hash__ = object.__hash__


@pytest.mark.parametrize(("there", "given", "stopped"), [(False, False, 1), (True, False, 0), (False, True, 0)])
def test_only_a_session_that_the_loom_started_is_stopped(monkeypatch, there, given, stopped):
    session = Session()
    monkeypatch.setattr("weft.loom.registry.has_session", lambda: there)
    monkeypatch.setattr("weft.loom.registry.active_or_local", lambda: session)
    with Loom(session if given else None) as loom:
        assert loom.spark is session and session.stopped == 0
    loom.close()
    assert session.stopped == stopped


SQL = "SELECT count(*) FROM trades GROUP BY window(ts, '10 minutes')"
HINTED = SQL.replace("SELECT", "SELECT /*+ EVERY('2 minutes') */")


@pytest.fixture
def loom(monkeypatch):
    """A loom whose Spark finds every query good."""
    schemas = {"trades": SourceSchema("trades", (("ts", "timestamp"),), "ts")}
    monkeypatch.setattr("weft.loom.sources.Sources.schemas", schemas)
    monkeypatch.setattr("weft.loom.sources.Sources.__getitem__", lambda self, name: SimpleNamespace(drop=0.0))
    monkeypatch.setattr("weft.spark.bind.check.Checker.bind",
                        lambda self, parsed: BoundQuery(parsed.query, "timestamp", (), ()))
    monkeypatch.setattr("weft.spark.bind.check.Checker.learn", lambda self, parsed: None)
    return lambda **options: Loom(Session(), **options)


def test_how_often_answers_come_is_the_querys_own_else_the_looms(loom):
    made = loom(every="1 hour")
    made.query("own", SQL, every="5 minutes")
    made.query("hinted", HINTED)
    made.query("none", SQL)
    assert {query.name: query.every // 60_000_000 for query in made.queries} == {"own": 5, "hinted": 2, "none": 60}
    assert loom().query("none", SQL).every is None


def test_many_queries_have_bounds_by_name(loom):
    made = loom(every="1 hour").add_queries({"a": SQL, "b": HINTED, "c": SQL}, every={"a": "5 minutes"})
    assert [query.every // 60_000_000 for query in made] == [5, 2, 60]
    with pytest.raises(QueryError, match="query 'd': every= has a bound for it"):
        loom().add_queries({"a": SQL}, every={"d": "5 minutes"})


def test_a_schedule_leaves_out_queries_of_sources_that_drop_rows(loom, monkeypatch):
    """They are no part of its plan; those that are scheduled are refused."""
    sources = {"all": 0.0, "few": 0.5}
    known = type("Known", (dict,), {"files": sources})
    context = SimpleNamespace(sources=known({name: SimpleNamespace(drop=drop) for name, drop in sources.items()}))
    queries = [SimpleNamespace(query=SimpleNamespace(name=name, source=name, window=SimpleNamespace(counts_rows=False)))
               for name in (*sources, "elsewhere")]
    assert plannable(context, queries) == ["all"]
    made = loom()
    made.query("q", SQL)
    monkeypatch.setattr("weft.loom.loom.require_incremental", lambda *_: None)
    monkeypatch.setattr(made, "_chosen", lambda names: tuple(made._queries[name] for name in names))
    monkeypatch.setattr("weft.loom.sources.Sources.__getitem__", lambda self, name: SimpleNamespace(drop=0.5))
    with pytest.raises(RunError, match="source 'trades' drops 50 % of its rows, and an incremental run keeps"):
        made.schedule("out", queries=["q"])


def test_a_bound_that_is_none_is_refused(loom):
    with pytest.raises(PlanError, match="every: '5 mins' is not a duration"):
        loom(every="5 mins")
    with pytest.raises(QueryError, match="query 'q', line 1, column 18: the hint asks for answers every 2 min"):
        loom().query("q", HINTED, every="5 minutes")


def test_a_program_without_spark_has_no_session():
    assert not has_session()
