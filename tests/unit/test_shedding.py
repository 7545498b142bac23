"""What is read of a source, and why: the sentences of a plan that drops rows, without any rows."""

from __future__ import annotations

from math import inf, nan
from types import SimpleNamespace

import pytest

from weft.io.drop_boxes import DropBox, Step
from weft.loom import stream as stream_module
from weft.loom.shedding import go_on, pinned, weigh_needs
from weft.loom.sources import Source, Sources
from weft.spark.statistics.pilot import Pilot, finite_or_inf
from weft.spark.stream.start import StreamOptions


def query(name, bound):
    return SimpleNamespace(query=SimpleNamespace(name=name, shed=bound))


def chosen(pilot, bound=0.02, least=0.0):
    return weigh_needs("t", ("q",), [query("q", bound)], {"q": pilot}, least)


def test_the_most_demanding_query_decides():
    pilots = {"a": Pilot(100, 1e6, 1e-6), "b": Pilot(100, 1e5, 1e-4)}
    found = weigh_needs("t", ("a", "b"), [query("a", 0.02), query("b", 0.02)], pilots, 0.0)
    assert found.reason == "query 'b' stays within 2 % with that." and found.share == pilots["b"].needed(0.02)
    assert str(found).startswith("t keeps ") and 0.4 < found.share < 0.7


@pytest.mark.parametrize(("pilot", "bound", "sentence"), [
    (Pilot(0, 0, inf), 0.02, "has no answer that would tell how many rows it needs"),
    (Pilot(50, 1e6, inf), 0.02, "some of its sums are about zero, infinite or NaN"),
    (Pilot(50, 1e6, finite_or_inf(nan)), 0.02, "some of its sums are about zero, infinite or NaN"),
    (Pilot(50, 1e6, finite_or_inf(None)), 0.02, "some of its sums are about zero, infinite or NaN"),
    (Pilot(50, 120, 1 / 120), 0.02, "one answer in twenty is made of 120 rows or fewer"),
    (Pilot(50, 1e6, 1e-4), 0.005, "which saves nothing"),
])
def test_a_bound_that_no_share_meets_gets_a_sentence(pilot, bound, sentence):
    found = chosen(pilot, bound)
    assert found.share == 1 and sentence in found.reason


def test_enough_rows_are_kept_for_an_error_to_mean_something():
    assert chosen(Pilot(50, 1000, 1e-9)).share == pytest.approx(0.2)  # 200 of 1000
    assert chosen(Pilot(50, 1e9, 1e-9), least=0.75).share == 0.75  # what the source drops is the most that is dropped


def test_who_needs_all_rows_is_named():
    assert pinned(["a"]) == "a accepts no error, and reads all rows anyway."
    assert pinned(list("abcde")) == "a, b, c and 2 more accept no error, and read all rows anyway."


def test_a_stream_goes_on_with_the_shares_of_its_checkpoint():
    steps = (Step(0, 0.5),)
    assert go_on((), 0.75, True) == (Step(0, 0.75),)
    assert go_on(steps, 0.5, True) is steps and go_on(steps, 1.0, False) is steps
    first, second = go_on(steps, 0.75, True)
    assert first == steps[0] and second.share == 0.75 and second.since > 1_700_000_000_000


def boxed_sources(drops):
    """Sources with the given drop=, each behind the box of a stream and one below a join."""
    sources = Sources(None, SimpleNamespace(show=None))
    for name, drop in drops.items():
        sources._known[name] = Source(name, None, None, None, drop)
        for box, share in ((f"{name} (sheds)", 1 - drop), (f"{name} (keeps 0.1 by k)", 0.1)):
            sources._known[box] = Source(box, None, None, None, drop, name)
            sources._boxes[box] = DropBox((Step(0, share),))
    return sources


def test_boxes_below_joins_are_no_steps_of_a_stream():
    sources = boxed_sources({"t": 0.0, "u": 0.25})
    assert sources.steps_of(sources._known.values()) == {"t": (Step(0, 1.0),), "u": (Step(0, 0.75),)}


def test_the_controller_leaves_alone_what_a_user_drops(monkeypatch):
    """It has steps of the other sources only, and the checkpoint has those of all."""
    sources, seen, pages = boxed_sources({"t": 0.0, "u": 0.25}), [], []
    monkeypatch.setattr(sources, "set_steps", lambda now: None)
    monkeypatch.setattr(stream_module, "parse_delay", lambda *_: 10_000)
    monkeypatch.setattr(stream_module, "start_stream", lambda *args: None)
    monkeypatch.setattr(stream_module, "ShedControl", lambda *args: seen.append(args) or SimpleNamespace(start=list))
    page = SimpleNamespace(kept=lambda steps: pages.append(steps) or SimpleNamespace(decided=lambda decision: page))
    plan = SimpleNamespace(context=SimpleNamespace(sources=sources, spark=None, ansi=False), shared=None, workload=[
        query("q", 0.02)], sources=list(sources._known.values()), stages=SimpleNamespace(scans=()))
    stream_module.control_stream(plan, None, StreamOptions("c", None, "10 seconds"), page, None)
    (_, steps, seconds, _, _, restart, *_), = seen
    assert steps == {"t": (Step(0, 1.0),)} and seconds == 10
    now = {"t": (Step(0, 1.0), Step(5, 0.5))}
    restart(now, 10, "a decision")
    assert pages == [{**now, "u": (Step(0, 0.75),)}]
