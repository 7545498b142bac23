"""The control of a running stream without Spark: queries are bound by hand, no scan runs, and changes are pages."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from tests.unit.stages.test_explain import MODEL, SECOND, bound
from weft.loom import live, live_plan
from weft.loom.live import LiveControl
from weft.loom.plan import Plan
from weft.loom.sources import Sources
from weft.model.join import Join, JoinInput, JoinKey, TimeBound
from weft.model.plan import Scan, SharedPlan, Tree
from weft.spark.stream.checkpoint import Checkpoint
from weft.spark.stream.start import StreamOptions
from weft.spark.stream.surroundings import StreamEnvironment
from weft.sql.freshness import parse_bound
from weft.stages.build import build

A, B = bound("a", 20 * SECOND, 5 * SECOND), bound("b", 60 * SECOND, 10 * SECOND, "max")
KNOWN = {"short": bound("short", 10 * SECOND, 5 * SECOND), "long": bound("long", 600 * SECOND, 10 * SECOND),
         "column": bound("column", 20 * SECOND, 5 * SECOND, "min"), "finer": bound("finer", 21 * SECOND, 7 * SECOND),
         "keys": bound("keys", 20 * SECOND, 5 * SECOND, keys=("venue",)),
         "b": bound("b", 20 * SECOND, 5 * SECOND, "max"), "sevens": bound("sevens", 14 * SECOND, 7 * SECOND)}


def joined(name: str, length: int, time: str | None = "ts"):
    """A query over a join of trades with another stream, or with a table that has no time."""
    inputs = tuple(JoinInput(source, source, at, tuple((own, f"{source}.{own}") for own in ("ts", "symbol", "volume")))
                   for source, at in (("quotes", time), ("trades", "ts")))
    bounds = (TimeBound(0, 1, 10 * SECOND), TimeBound(1, 0, 10 * SECOND)) if time else ()
    join = Join(inputs, (JoinKey(0, 1, "`quotes.symbol`", "`trades.symbol`"),), bounds)
    found = bound(name, length * SECOND, 5 * SECOND)
    return replace(found, query=replace(found.query, source=join.name, time="`trades.ts`", keys=("`trades.symbol`",),
                                        join=join))


KNOWN |= {"streams": joined("streams", 10), "table": joined("table", 10, None)}


def identity(source: str, text: str) -> str:
    return text


class Registered(defaultdict):
    """Sources that are known as soon as somebody asks for them."""

    find_replaced = Sources.find_replaced
    _known = property(lambda self: self)


class Running:
    """A stream that holds no scan, and lets every change be made."""

    scans = ()

    def swap(self, names, held, change):
        change(())


def bind_known(context, add, every):
    """The queries of KNOWN that texts name."""
    bounds = {name: parse_bound(text) for name, text in every.items()}
    return [replace(KNOWN[text], query=replace(KNOWN[text].query, name=name, text=text, every=bounds.get(name)))
            for name, text in add.items()]


class Control(LiveControl):
    """A control of scans that do not run."""

    swap_refused = "the test says so"

    def running(self, key):
        return self.scans.setdefault(key, SimpleNamespace(
            plans=SimpleNamespace(why_not=lambda *_: self.swap_refused, broken=False)))

    def guard(self, found):
        """Nothing that a start needs is here."""


def control_maker(monkeypatch, tmp_path: Path) -> Callable[..., Control]:
    """What makes the control of a stream of some queries, whose checkpoint is a folder of the test's."""
    for module in (live, live_plan):
        monkeypatch.setattr(module, "model_of", lambda workload, samples: lambda _: MODEL)
    monkeypatch.setattr(live_plan, "check_queries", bind_known)
    monkeypatch.setattr(Plan, "breakdown", property(lambda plan: SimpleNamespace(cost=10.0 * len(plan.workload))))
    arriving = SimpleNamespace(name="trades", place="in", delay=lambda spark: 4000)
    source = SimpleNamespace(name="trades", join=None, origin=None, stream=arriving)
    context = SimpleNamespace(spark=None, ansi=True, every=None, sizes=SimpleNamespace(samples=None),
                              sources=Registered(lambda: source),
                              checker=SimpleNamespace(identity=identity),
                              build=lambda shared: build(shared, identity=identity))

    def make(*queries):
        plan = Plan.of(context, queries, SharedPlan("tri_weave", (Scan((Tree(queries),)),)))
        around = StreamEnvironment({}, None, {}, "UTC")
        page = Checkpoint.new(plan.shared, plan.stages, 2, {"trades": 4000}, around, identity)
        launch = SimpleNamespace(checkpoint=str(tmp_path), letters="letters")
        made = Control(Running(), plan, page, launch, StreamOptions(str(tmp_path), "noop"), None)
        made.scans = {}
        return made

    return make


def advance(control: Control, trigger: int = 9, until: int = 1000, only: str = "") -> None:
    """Let every scan have made so many triggers, or only the one whose key begins so."""
    for scan in (scan for scan in control.plan.shared.scans if scan.pins.key.startswith(only)):
        for log, text in (("offsets", {"batchWatermarkMs": until * 1000}),
                          ("commits", {"nextBatchWatermarkMs": (until + 5) * 1000})):
            folder = Path(control.launch.checkpoint) / f"scan-{scan.pins.key}" / log
            folder.mkdir(parents=True, exist_ok=True)
            (folder / str(trigger)).write_text(f"v1\n{json.dumps(text)}")


def accept(control: Control, found) -> Checkpoint:
    """Make a change on paper, and read its page back."""
    page = control.next_page(found, control.boundaries(found))
    page = page.completed(control.describe(found, page).to_dict()["complete_from"])
    plain = json.loads(json.dumps({**vars(page), "around": vars(page.around)}))
    page = Checkpoint(**{**plain, "around": StreamEnvironment(**plain["around"])})
    known = {b.query.name: b for scan in found.plan.shared.scans for b in scan.served}
    assert set(page.texts) == set(known)
    again = Plan.of(control.context, found.plan.workload, page.plan(tuple(known.values())))
    assert [scan.root.id for scan in again.stages.scans] == [scan.root.id for scan in found.plan.stages.scans]
    page.require_state("here", again.stages)
    control.__init__(control.stream, again, page, control.launch, control.wanted, None)
    return page
