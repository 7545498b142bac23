"""The plans of a scan that runs, as its driver knows them: which one delivers a trigger, and when another may come.

A delivery holds the gate from before the first task of its trigger until all is written. Whoever holds the gate when
every trigger that was delivered is committed stands at a boundary: what is put in place then holds from the next
trigger on, whether or not Spark has begun to plan that one.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from threading import Lock, get_ident
from weakref import finalize

from weft.errors import RunError
from weft.model.graph import StageGraph
from weft.model.stages import PartialStage
from weft.spark.stream.answer_counts import Labels
from weft.spark.stream.buckets import KeptBuckets, calls_after_change, plan_buckets
from weft.spark.stream.counts import count_table
from weft.spark.stream.flow import ExpectedPart, Flow, expected_parts
from weft.spark.stream.outputs import ChooseOutputs
from weft.spark.stream.worker_plans import PreparedPlan, WorkerPlan, prepare_plan

# Stands for the number of a trigger where none was delivered yet.
UNKNOWN = -1
# How often one looks whether a trigger is committed, in seconds.
LOOK = 0.005


@dataclass(frozen=True)
class Delivery:
    """What a trigger delivers: its parts, the ids of those whose rows workers make, and the version of the plan by
    which it does."""

    parts: tuple[ExpectedPart, ...]
    made: frozenset[str] = frozenset()
    version: int = 1


# What a trigger delivers, by its number; within, no other plan takes its place.
Deliveries = Callable[[int], AbstractContextManager[Delivery]]


class Deliverer:
    """Knows the thread that delivers a trigger, while it does: there a sink of the user's own is called."""

    def __init__(self) -> None:
        self.deliverer = 0

    @contextmanager
    def delivering(self) -> Iterator[None]:
        """Within, this thread delivers."""
        self.deliverer = get_ident()
        try:
            yield
        finally:
            self.deliverer = 0

    def require_outside(self) -> None:
        """Raise where this thread delivers: it would wait for itself."""
        if self.deliverer == get_ident():
            raise RunError("a stream's queries cannot be changed from within its own sink: do it in another thread.")


class FixedDelivery(Deliverer):
    """Every trigger delivers the same."""

    def __init__(self, delivery: Delivery):
        super().__init__()
        self.delivery = delivery

    @contextmanager
    def __call__(self, number: int) -> Iterator[Delivery]:
        """What a trigger delivers."""
        with self.delivering():
            yield self.delivery


@dataclass(frozen=True)
class NextPlan:
    """A plan for the triggers of a scan from one on, not in place yet."""

    trigger: int
    delivery: Delivery
    labels: Labels
    prepared: PreparedPlan

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries that it answers."""
        return tuple(asked.name for part in self.delivery.parts for asked in part.stage.queries)


class ScanPlans(Deliverer):
    """The plans of one scan since Spark started it, by one of a `version`; `rows` is what Spark's plan makes of rows,
    `every` its trigger."""

    def __init__(self, flow: Flow, rows: PartialStage, every: str | None, version: int = 1):
        super().__init__()
        assert flow.folder and flow.slices
        self.folder, self.slices, self.rows, self.every = flow.folder, flow.slices, rows, every
        self.labels = flow.labels
        self.deliveries = [(0, Delivery(flow.parts, flow.made, version))]
        self.gate, self.begun, self.broken = Lock(), UNKNOWN, False
        self.newest: PreparedPlan | None = None  # of those put in place
        finalize(self, shutil.rmtree, self.folder, True)

    @contextmanager
    def deliver(self, number: int) -> Iterator[Delivery]:
        """What a trigger delivers; within, no other plan is put in place."""
        with self.gate:
            if self.broken:
                raise RunError("the stream's queries were changed, and this scan could not follow.")
            if self.newest:
                self.newest.put_back()  # else workers would go on under the plan of the start
            self.begun = number
            with self.delivering():
                yield self.delivery(number)

    def delivery(self, number: int) -> Delivery:
        """The newest delivery for a trigger."""
        return [each for since, each in self.deliveries if since <= number][-1]

    @contextmanager
    def at_boundary(self, is_committed: Callable[[int], bool], goes_on: Callable[[], bool]) -> Iterator[None]:
        """Within, nothing is delivered, and every trigger that was delivered, or begun by an earlier process, is
        committed: `is_committed` is asked with the number of the last one here, UNKNOWN where there was none."""
        self.require_outside()
        while not self.enter(is_committed):
            if not goes_on():
                raise RunError("the stream has ended, so its queries cannot be changed: start it again first.")
        try:
            yield
        finally:
            self.gate.release()

    def enter(self, is_committed: Callable[[int], bool]) -> bool:
        """Take the gate if all that was delivered is committed; else triggers go on, and it is worth another look."""
        if not self.gate.acquire(timeout=1):
            return False
        done = False
        try:
            done = is_committed(self.begun)
        finally:
            if not done:
                self.gate.release()
        time.sleep(0 if done else LOOK)
        return done

    def why_not(self, scan: StageGraph, every: str | None) -> str:
        """Why Spark's plan of the scan does not serve other queries as it is; nothing where it does."""
        new = scan.root.stage
        if every != self.every:
            return "it gets another trigger"
        return "" if serves_rows(self.rows, new) else "it needs other columns of its rows"

    def prepare(self, scan: StageGraph, kept: KeptBuckets, ansi: bool, choose: ChooseOutputs,
                version: int) -> NextPlan:
        """Write the plan of other queries for workers, who do not see it yet."""
        plans = plan_buckets(scan, kept, ansi, self.slices)
        parts, outputs = expected_parts(scan, plans, self.slices), choose(scan, plans)
        counts = count_table(parts)
        assert kept.since is not None
        plan = WorkerPlan(plans, outputs, calls_after_change(kept), counts)
        # A trigger's progress may be read late: what it counted is known by the labels from before.
        labels = {**self.labels, **counts.labels}
        return NextPlan(kept.since, Delivery(parts, frozenset(outputs.projections), version), labels,
                        prepare_plan(self.folder, kept.since, version, plan))

    def put_in_place(self, plan: NextPlan) -> None:
        """Let the triggers of the scan run under a plan from its number on."""
        try:
            plan.prepared.put_in_place()
        except OSError:
            self.broken = True
            raise
        self.deliveries = [*self.deliveries[-1:], (plan.trigger, plan.delivery)]
        self.labels, self.newest = plan.labels, plan.prepared


def serves_rows(rows: PartialStage, other: PartialStage) -> bool:
    """Whether what one stage makes of rows is all that another needs: its columns, and all else alike."""
    alike = replace(rows, components=(), columns=()) == replace(other, components=(), columns=())
    return alike and set(other.columns) <= set(rows.columns)
