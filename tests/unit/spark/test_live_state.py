"""A scan of a stream without Spark: plans change between triggers, and every query answers its whole windows once."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field, replace
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from tests.unit.stages.test_explain import MODEL, SECOND, bound
from weft.final.state import history as past
from weft.final.state.changes import Boundary
from weft.final.state.form import SliceForm, from_bytes, slice_starts
from weft.io.arrivals import LETTER
from weft.model.plan import Scan, SharedPlan, Tree
from weft.model.workload import BoundQuery
from weft.optimize.live import join_candidates, remove_query, reweave_trees, without_ghosts
from weft.spark.stages.partial import SLICE
from weft.spark.stages.row_lifts import find_merges
from weft.spark.stream.buckets import BUCKET, SLICES, plan_buckets
from weft.spark.stream.checkpoint import Checkpoint
from weft.spark.stream.live import change_state, first_starts, takes_change
from weft.spark.stream.partial import PartialAggregator, worker_columns
from weft.spark.stream.scan_plans import serves_rows
from weft.spark.stream.state import ANSWERS, COUNT_PART, PART, BucketHandler
from weft.spark.stream.surroundings import StreamEnvironment
from weft.spark.stream.worker_plans import WorkerPlan, WorkerPlans
from weft.stages.build import build, projection
from weft.stages.pins import pin_plan

DELAY = 3
FOLDS = {"sum": sum, "max": max, "min": min}
WINDOWS = ((10, 5), (20, 5), (40, 10), (100, 5), (200, 10), (60, 20))
Row = tuple[str, str, int, int]  # symbol, venue, second, volume


@dataclass
class Value:
    """A value of Spark's state."""

    held: tuple | None = None

    def get(self):
        return self.held

    def update(self, value):
        self.held = value

    def clear(self):
        self.held = None


@dataclass
class Past(Value):
    """A map of Spark's state."""

    blobs: dict = field(default_factory=dict)

    def getValue(self, key):
        return self.blobs.get(key)

    def updateValue(self, key, value):
        self.blobs[key] = value

    def removeKey(self, key):
        self.blobs.pop(key, None)

    def clear(self):
        self.blobs.clear()


@dataclass
class BucketState:
    """What Spark keeps of a bucket."""

    kept: Value = field(default_factory=Value)
    past: Past = field(default_factory=Past)
    timers: set[int] = field(default_factory=set)

    def registerTimer(self, due):
        self.timers.add(due)

    def deleteTimer(self, due):
        self.timers.remove(due)


@dataclass
class Life:
    """A query from when it came until it went."""

    query: BoundQuery
    first: int | None = None
    after: int | None = None
    until: int | None = None


class SimulatedScan:
    """A scan whose triggers are run by hand."""

    def __init__(self, scan: Scan):
        plan = SharedPlan("tri_weave", (scan,))
        stages = build(plan)
        self.shared = pin_plan(plan, stages)
        self.page = Checkpoint.new(plan, stages, 2, {"trades": DELAY * 1000}, StreamEnvironment({}, None, {}, "UTC"),
                                   lambda source, text: text)
        self.state: dict[int, BucketState] = defaultdict(BucketState)
        self.answers: list[tuple] = []
        self.lives = {b.query.name: Life(b) for node in scan.nodes for b in node.queries}
        self.done: list[Life] = []
        self.watermark, self.seen, self.number, self.touched = 0, 0, 0, False
        self.rows, self.swaps = self.graph.root.stage, 0  # what Spark's plan makes of rows since it was last started

    @property
    def graph(self):
        return build(self.shared).scans[0]

    def trigger(self, rows: list[Row]) -> None:
        """A trigger over rows, and one more without rows under the watermark that they make."""
        self.run(rows)
        self.seen = max([self.seen, *(second for _, _, second, _ in rows)])
        self.watermark = max(self.watermark, (self.seen - DELAY) * 1000)
        self.run([])

    def run(self, rows: list[Row]) -> None:
        graph, kept = self.graph, self.page.kept_buckets(self.graph)
        stage = self.rows
        types = {**dict.fromkeys(stage.key_names, StringType()), SLICE: LongType(),
                 **{column.name: LongType() for column in stage.columns}}
        plans = plan_buckets(graph, kept, True, StructType([StructField(n, t) for n, t in types.items()]))
        coming: dict[int, list[bytes]] = defaultdict(list)
        if self.touched:
            coming |= {bucket: [b""] for bucket in kept.every}
            self.touched = False
        for batch in cut(stage, plans, rows) if rows else ():
            for bucket, data in zip(*(batch.column(name).to_pylist() for name in (BUCKET, SLICES)), strict=True):
                coming[bucket].append(data)
        for bucket, data in coming.items():
            self.call(graph, plans, bucket, lambda h, b=bucket, d=data: h.take(b, [{SLICES: d}], self.watermark))
        for bucket, held in list(self.state.items()):
            for due in [due for due in held.timers if due < self.watermark]:
                self.call(graph, plans, bucket, lambda h, b=bucket, e=due: h.advance(b, None, self.watermark, e))
                held.timers.discard(due)
        self.number += 1

    def call(self, graph, plans, bucket: int, work) -> None:
        held = self.state[bucket]
        handler = BucketHandler(WorkerPlans(WorkerPlan(plans)), held, held.kept, held.past)
        finals = {part.id: part.final for plan in plans for part in plan.node.parts}
        for frame in work(handler):
            for id, data in zip(frame[PART], frame[ANSWERS], strict=True):
                if id != COUNT_PART:
                    self.read(graph, id, finals[id], from_bytes(data))

    def read(self, graph, id: str, final, table: pa.Table) -> None:
        names = [(asked.name, final.windows.index(asked.window)) for asked in graph[id].stage.queries]
        for row in zip(*table.to_pydict().values(), strict=True):
            window, keys, (first, slide, _, starts, values) = row[0], row[1:1 + final.keys], row[1 + final.keys:][:5]
            for i, value in enumerate(values):
                at = starts[i] if starts else first + i * slide
                self.answers += [(name, keys, at, value) for name, place in names if place == window]

    def boundary(self) -> Boundary | None:
        return Boundary(self.number, self.until * 1000, (self.seen * 1000 + 1) * 1000) if self.number else None

    @property
    def until(self) -> int:
        return self.watermark

    def change(self, shared: SharedPlan) -> None:
        """Another plan from the next trigger on, as a page that was read back; swapped where rows come as they did."""
        old, new = self.graph, build(shared).scans[0]
        assert takes_change(old, new, True)
        serves = serves_rows(self.rows, new.root.stage)
        self.rows, self.swaps = self.rows if serves else new.root.stage, self.swaps + serves
        state = json.loads(json.dumps({new.root.id: change_state(self.page, old, new, self.boundary(), {}, True)}))
        self.page = replace(self.page, state=state)
        self.shared, self.touched = pin_plan(shared, build(shared)), True

    def add(self, query: BoundQuery) -> bool:
        """Whether a query could be added."""
        for _, found in join_candidates(self.shared, query, lambda _: MODEL, projection):
            if takes_change(self.graph, build(found).scans[0], True):
                self.change(found)
                first = first_starts(next(iter(self.page.state.values())), self.graph, [query.query.name], True,
                                     self.until * 1000 if self.number else None)
                at = self.until * 1000 if self.number else None
                self.lives[query.query.name] = Life(query, first[query.query.name], at)
                return True
        return False

    def drop(self, name: str) -> None:
        """Take a query away, and ghosts that nobody misses."""
        found = remove_query(self.shared, name, f"{name}~{self.number}")
        scan = without_ghosts(found.scans[0], lambda fewer: takes_change(
            self.graph, build(replace(found, scans=(fewer,))).scans[0], True))
        found = replace(found, scans=(scan,))
        self.change(found)
        life = self.lives.pop(name)
        life.until = self.until * 1000
        self.done.append(life)

    def expected(self, rows: list[Row]) -> list[tuple]:
        return [answer for life in (*self.done, *self.lives.values())
                for answer in expect(life, rows, self.until * 1000)]


def cut(stage, plans, rows: list[Row]) -> list[pa.RecordBatch]:
    """What workers make of rows, as `cut_in_workers` has it."""
    head, names = (*stage.key_names, SLICE), worker_columns(stage)
    form = SliceForm(len(stage.keys), 0, stage.progressions, find_merges(stage), True,
                     (*head, *(column.name for column in stage.columns)))
    places = tuple((names.get(c.lift.sql), c.lift.counts) for c in stage.columns)
    values = {"symbol": [r[0] for r in rows], "venue": [r[1] for r in rows], "volume": [r[3] for r in rows]}
    keys = {name: pa.array(values[key]) for name, key in zip(stage.key_names, stage.keys, strict=True)}
    start = slice_starts(pa.array([r[2] * SECOND for r in rows]).to_numpy(), stage.progressions)
    columns = {**keys, SLICE: pa.array(start), **{n: pa.array(values[sql]) for sql, n in names.items()},
               LETTER: pa.nulls(len(rows), pa.string())}
    return list(PartialAggregator(WorkerPlans(WorkerPlan(plans)), form, places)([pa.record_batch(columns)]))


def expect(life: Life, rows: list[Row], now: int) -> list[tuple]:
    """What a query should have answered."""
    query, window = life.query.query, life.query.query.window
    found: dict[tuple, list[int]] = defaultdict(list)
    for symbol, venue, second, volume in rows:
        key = tuple({"symbol": symbol, "venue": venue}[k] for k in query.keys)
        last = second * SECOND - second * SECOND % window.slide
        for start in range(last, second * SECOND - window.range, -window.slide):
            found[key, start].append(volume)
    until = now if life.until is None else life.until
    return [(query.name, key, start, FOLDS[query.calls[0].function](values)) for (key, start), values in found.items()
            if start + window.range <= until and (life.after is None or start + window.range > life.after)
            and (life.first is None or start >= life.first)]


def draw(random: Random, name: str) -> BoundQuery:
    length, slide = random.choice(WINDOWS)
    keys = random.choice([("symbol",), ("symbol", "venue")])
    return bound(name, length * SECOND, slide * SECOND, random.choice(list(FOLDS)), keys)


@pytest.mark.parametrize("seed", range(5))
def test_a_scan_whose_queries_come_and_go_answers_each_whole_window_once(seed, monkeypatch):
    random = Random(seed)
    monkeypatch.setattr(past, "FAN", random.choice([2, 4, 16]))
    fine = Scan((Tree((bound("fine", 20 * SECOND, 5 * SECOND, "sum", ("symbol", "venue")),)),),
                (Scan((Tree((bound("coarse", 40 * SECOND, 10 * SECOND, "max"),)),)),))
    scan = SimulatedScan(fine)
    clock, every, added = 1000, [], 0
    for turn in range(40):
        length = random.choice([5, 15, 60])
        rows = [(random.choice("ab"), random.choice("xy"), clock + random.randint(-DELAY + 1, length),
                 random.randint(-9, 9)) for _ in range(random.choice([0, 3, 12]))]
        clock += length
        every += rows
        scan.trigger(rows)
        for _ in range(random.choice([0, 0, 1, 2])):
            kind = random.choice(["add", "add", "drop", "weave"])
            if kind == "add":
                added += scan.add(draw(random, f"q{turn}_{len(scan.lives)}_{len(scan.done)}"))
            elif kind == "drop" and len(scan.lives) > 1:
                scan.drop(random.choice(list(scan.lives)))
            else:
                scan.change(reweave_trees(scan.shared, lambda _: MODEL, projection))
    scan.trigger([("a", "x", clock + 1000, 1)])
    every.append(("a", "x", clock + 1000, 1))
    assert sorted(scan.answers) == sorted(scan.expected(every))
    assert added > 3 and scan.swaps > 3
    asked = {column for plan in plan_buckets(scan.graph, scan.page.kept_buckets(scan.graph), True)
             for column in plan.node.form.names}
    for held in scan.state.values():  # nothing is left of what nobody reads
        assert {name for (data,) in held.past.blobs.values() for name in from_bytes(data).column_names} <= asked
