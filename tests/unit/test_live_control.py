"""Changes of a running stream as plans and pages, without Spark: queries are bound by hand, and no scan runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace

import pytest

from tests.harness.live_control import A, B, accept, advance, control_maker, joined
from weft.errors import QueryError, RunError
from weft.loom import live
from weft.loom.history import find_history
from weft.loom.plan import Plan
from weft.model.plan import Tree
from weft.spark.stream.checkpoint import BACKFILL, PAGE, write_checkpoint
from weft.spark.stream.handle import Unchanged
from weft.spark.stream.scan_plans import Delivery, FixedDelivery
from weft.spark.stream.sinks import number_trigger


@pytest.fixture
def make_control(monkeypatch, tmp_path):
    return control_maker(monkeypatch, tmp_path)


@pytest.fixture
def control(make_control):
    return make_control(A, B)


def test_a_window_over_kept_slices_restarts_its_scan_and_answers_whole_windows(control):
    advance(control)
    (key,) = (scan.pins.key for scan in control.plan.shared.scans)
    found = control.propose({"short": "short"}, (), {})
    assert (found.restarted, found.fresh, found.gone) == ((key,), (), ())
    told = control.preview({"short": "short"}, ())
    assert told.kind == "restart" and told.queries == ("a", "b", "short") and "slices" in told.reason
    assert told.complete_from["short"].timestamp() == 995  # the next window to end after 1000
    control.swap_refused = ""
    swapped = control.preview({"short": "short"}, ())
    assert swapped.kind == "swap" and "goes on" in swapped.reason and swapped.complete_from == told.complete_from
    page = accept(control, found)
    assert page.plan_version == 2 and page.version_of(key, 9) == 1 and page.version_of(key, 10) == 2


@pytest.mark.parametrize(("name", "first"), [("long", 940), ("column", 1010)])
def test_what_is_not_kept_says_from_when_on_it_is_whole(control, name, first):
    advance(control)
    assert control.preview({name: name}, ()).complete_from[name].timestamp() == first


@pytest.mark.parametrize(("name", "reason"), [("finer", "cut slices"), ("keys", "groups this source by its keys")])
def test_other_slices_are_a_scan_of_their_own(control, name, reason):
    advance(control)
    found = control.propose({name: name}, (), {})
    assert found.restarted == () and len(found.fresh) == 1 and found.fresh[0].endswith(".2")
    told = control.preview({name: name}, ())
    assert told.kind == "free" and told.complete_from == {name: None} and reason in told.reason
    page = accept(control, found)
    assert page.state[found.fresh[0]]["version"] == 2 and page.changes[-1]["triggers"] == {found.fresh[0]: 0}
    gone = control.propose({}, (name,), {})
    assert gone.gone == found.fresh and gone.restarted == ()
    accept(control, gone)
    assert control.queries == ("a", "b")


def test_queries_with_a_history_share_a_scan_that_nobody_else_has(control):
    advance(control)
    assert control.settled("trades") == 1_000_000_000 and control.settled("others") is None
    found = control.propose({"short": "short", "finer": "finer", "keys": "keys"}, (), {}, apart=True)
    assert found.restarted == () and len(found.fresh) == 2 and "history first" in found.reasons[0]
    key = next(scan.root.id for scan in found.plan.stages.scans if {"short", "finer"} <= set(scan.queries()))
    assert key in found.fresh
    read = {BACKFILL: {"folder": "history-x", "cut": 7}}
    page = accept(control, replace(found, past={key: read}))
    assert page.state[key][BACKFILL] == read[BACKFILL]
    advance(control)
    again = accept(control, control.propose({}, ("finer",), {}))
    assert again.state[key][BACKFILL] == read[BACKFILL]  # Spark goes on with both sources of the scan
    replaced = control.propose({"b": "b", "long": "long"}, ("b",), {}, apart=True)
    assert len(replaced.fresh) == 2  # one begins where the old one ended, the other does not


def test_windows_that_count_rows_have_no_history():
    counting = replace(A.query, window=replace(A.query.window, unit="rows"))
    with pytest.raises(QueryError, match="its windows count rows"):
        find_history(None, counting, None)


def test_a_query_that_goes_leaves_its_scan_and_may_come_again(control):
    advance(control)
    (key,) = (scan.pins.key for scan in control.plan.shared.scans)
    page = accept(control, control.propose({}, ("a",), {}))
    assert [g.query.name for g in control.plan.shared.scans[0].ghosts] == ["a~2"] and control.queries == ("b",)
    assert page.started.keys() == {"a", "b"} and list(page.queries) == ["b"]
    (history,) = (found["history"] for found in page.state[key]["groupings"].values())
    assert history["whole"] == 940_000_000
    advance(control, 20, 2000)
    told = control.preview({"short": "short"}, ())  # the sum was not kept meanwhile
    assert told.kind == "restart" and told.complete_from["short"].timestamp() == 2010
    accept(control, control.propose({"short": "short"}, (), {}))
    assert control.plan.shared.scans[0].ghosts == ()  # the new one cuts as the old one did
    assert control.drift == pytest.approx(0.0)


def test_a_replacement_begins_where_the_old_one_ended(control):
    advance(control)
    told = control.preview({"b": "b"}, ("b",))
    assert told.kind == "restart" and told.complete_from["b"].timestamp() == 985
    found = control.propose({"b": "finer"}, ("b",), {})
    page = control.next_page(found, control.boundaries(found))
    (state,) = (page.state[key]["groupings"] for key in found.fresh)
    assert [list(each["history"]["windows"].values()) for each in state.values()] == [[1_000_000_000]]
    assert found.restarted and control.describe(found, page).complete_from["b"].timestamp() == 980


def test_a_replacement_of_the_only_query_goes_on_with_its_state(control):
    advance(control)
    accept(control, control.propose({}, ("a",), {}))
    advance(control)
    found = control.propose({"b": "b"}, ("b",), {})
    assert found.restarted and not found.fresh and not found.gone
    accept(control, found)


@pytest.mark.parametrize(("add", "drop", "error", "text"), [
    ({"a": "short"}, (), QueryError, "runs already"),
    ({}, ("c",), QueryError, "no query of this name runs"),
    ({"x/y": "short"}, (), QueryError, "cannot name a query"),
    ({}, ("a", "b"), RunError, "without queries"),
])
def test_bad_changes_change_nothing(control, add, drop, error, text):
    before = (control.plan, control.page)
    with pytest.raises(error, match=text):
        control.propose(add, drop, {})
    assert (control.plan, control.page) == before


def test_before_the_first_trigger_everything_is_whole(control):
    assert control.preview({"long": "long", "column": "column"}, ()).complete_from == {"long": None, "column": None}


def test_a_checkpoint_of_an_earlier_version_is_not_changed(control):
    control.page = replace(control.page, begun=5)
    with pytest.raises(RunError, match="earlier version"):
        control.propose({"short": "short"}, (), {})


@pytest.mark.parametrize("ask", [lambda c: c.change({"short": "short"}, (), {}), lambda c: c.change({}, ("a",), {}),
                                 lambda c: c.preview({"short": "short"}, ()), lambda c: c.reweave()])
def test_a_stream_whose_source_was_replaced_is_not_moved_to_the_other(control, monkeypatch, ask):
    before = (control.plan, control.page)
    control.context.sources["trades"] = SimpleNamespace(**vars(control.context.sources["trades"]))
    monkeypatch.setattr(control, "make", lambda *_: pytest.fail("it was changed"))
    with pytest.raises(RunError, match="source 'trades' was replaced since the stream was started"):
        ask(control)
    assert (control.plan, control.page) == before


def test_weaving_anew_what_is_woven_does_nothing(control):
    told = control.reweave()
    assert told.kind == "free" and not told.added and not told.freed


def test_a_scan_over_a_join_of_streams_stays_as_it_is(make_control, monkeypatch):
    """Spark's logs have the watermark before the join, and what is behind it has answered less."""
    control = make_control(joined("x", 20), joined("y", 40))
    advance(control)
    found = control.propose({"z": "streams"}, (), {})
    assert (found.restarted, len(found.fresh)) == ((), 1) and "a join" in found.reasons[0]
    with pytest.raises(RunError, match=r"'x' cannot go alone: its state is that of 'y' as well, and a join of str"):
        control.propose({}, ("x",), {})
    for name in ("x", "y"):
        with pytest.raises(QueryError, match=r"joins streams, and Spark does not tell.*under another name"):
            control.propose({name: "streams"}, (name,), {})
    assert control.propose({"z": "streams"}, ("x", "y"), {}).gone  # all of it may go
    apart = [Tree((query,)) for query in control.plan.workload]
    monkeypatch.setattr(live, "reweave_trees", lambda shared, *_: replace(
        shared, scans=tuple(replace(scan, trees=tuple(apart)) for scan in shared.scans)))
    monkeypatch.setattr(Plan, "breakdown", property(lambda plan: SimpleNamespace(cost=10.0 - len(plan.scans[0].trees))))
    monkeypatch.setattr(control, "make", lambda found, woven: found)
    assert control.reweave().kind == "free"


def test_a_scan_over_a_join_with_a_table_takes_changes(make_control):
    control = make_control(joined("x", 20, None), joined("y", 40, None))
    advance(control)
    (key,) = (scan.pins.key for scan in control.plan.shared.scans)
    for add, drop in (({"z": "table"}, ()), ({}, ("x",)), ({"x": "table"}, ("x",))):
        found = control.propose(add, drop, {})
        assert (found.restarted, found.fresh) == ((key,), ())


def test_every_change_of_a_scan_numbers_its_triggers_above_all_before(control):
    """A query that comes, or comes again, may have had answers of another scan, whose triggers have numbers as well."""
    advance(control)
    (key,) = (scan.pins.key for scan in control.plan.shared.scans)
    page = accept(control, control.propose({"own": "finer"}, (), {}))
    fresh = next(other for other in page.state if other != key)
    assert page.state[key].get("version", 1) == 1 and page.state[fresh]["version"] == 2
    advance(control)
    accept(control, control.propose({}, ("own",), {}))
    page = accept(control, control.propose({"own": "short"}, (), {}))
    assert page.state[key]["version"] == 4
    assert number_trigger(4, 0) > number_trigger(2, 10**8) > number_trigger(1, 10**8) == 10**8


def test_a_stream_that_may_drop_rows_is_not_woven_anew(control):
    control.page = replace(control.page, shedding={"trades": [[0, 0.5]]})
    with pytest.raises(RunError, match="rows of this stream may be dropped"):
        control.reweave()


@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt()])
@pytest.mark.parametrize("page", ["old", "new", "broken"])
def test_where_the_page_may_be_written_no_scan_goes_on_under_the_old_plan(control, monkeypatch, error, page):
    advance(control)
    control.swap_refused = ""
    write_checkpoint(control.launch.checkpoint, control.page)

    def start(found, made, built):
        if page == "new":
            write_checkpoint(control.launch.checkpoint, made)
        if page == "broken":
            Path(control.launch.checkpoint, PAGE).write_text("{")
        raise error

    monkeypatch.setattr(control, "start", start)
    with pytest.raises(Unchanged if page == "old" else type(error)):
        control.change({"short": "short"}, (), {})
    assert [scan.plans.broken for scan in control.scans.values()] == [page != "old"]


@pytest.mark.parametrize("ask", [lambda c: c.change({"short": "short"}, (), {}), lambda c: c.reweave(),
                                 lambda c: c.preview({"short": "short"}, ())])
def test_a_sink_does_not_wait_for_who_waits_for_it(control, ask):
    delivery = FixedDelivery(Delivery(()))
    control.stream.scans = (SimpleNamespace(deliverer=None), SimpleNamespace(deliverer=delivery))
    held, done = Event(), Event()

    def change() -> None:
        with control._one:
            held.set()
            done.wait(10)

    other = Thread(target=change)
    other.start()
    try:
        assert held.wait(10)
        with delivery(7), pytest.raises(RunError, match="from within its own sink"):
            ask(control)
    finally:
        done.set()
        other.join(10)
