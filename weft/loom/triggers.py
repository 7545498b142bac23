"""How short the triggers of a plan's scans can be, T* = F / (1 − U), by earlier streams or by Weft's model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from math import isfinite
from typing import TYPE_CHECKING
from warnings import warn

from weft.catalog.store import CatalogWarning, Store
from weft.catalog.trigger_loads import keep_trigger_load, trigger_loads
from weft.cost.model import SparkModel
from weft.cost.shedding.triggers import TriggerLoad
from weft.errors import CatalogError, PlanError
from weft.loom.sizes import model_of
from weft.model.edges import edge_rate
from weft.model.plan import Scan
from weft.spark.stream.handle import Stream
from weft.spark.stream.progress import trigger_load, trigger_metrics
from weft.spark.stream.start import scan_name
from weft.stages.triggers import ScanTrigger

if TYPE_CHECKING:
    from weft.loom.plan import Plan

# A stream's trigger by the bounds of its queries.
BOUNDS = "bounds"
# Stages' worth of time that a trigger takes however few its rows: planning, rows to Python, state, files, commit.
TRIGGER_STAGES = 4
SECOND = 1_000_000


def scan_triggers(plan: Plan) -> Iterator[ScanTrigger]:
    """For each scan whose queries have bounds how short its trigger can be, and by what that is known."""
    known = trigger_loads(plan.context.store.catalog) if plan.context.store else {}
    estimates = dict(zip((node.id for node in plan.stages.slices), map_loads(plan), strict=True))
    for graph in plan.stages.scans:
        bounds = scan_bounds(plan, graph.queries())
        if bounds:
            mine = [estimates[node.id] for node in graph.slices]
            guess = TriggerLoad(max(one.fixed for one in mine), sum(one.rows for one in mine))
            name = scan_name(graph)
            yield ScanTrigger(name, bounds, known.get(name, guess), name in known)


def scan_bounds(plan: Plan, names: tuple[str, ...]) -> dict[str, int]:
    """The bounds of those queries that have one, in µs."""
    return {bound.query.name: bound.query.every for bound in plan.workload
            if bound.query.name in names and bound.query.every}


def map_loads(plan: Plan) -> Iterator[TriggerLoad]:
    """What triggers of each scan, and of groupings derived from one, take by Weft's model, if rows come as fast as
    their event times say."""
    model = model_of(plan.workload, plan.context.sizes.samples)
    for scan in plan.nodes:
        yield estimate_load(model(scan.head), scan, derived=scan not in plan.scans)


def estimate_load(model: SparkModel, scan: Scan, derived: bool) -> TriggerLoad:
    """The load of one scan: rows that are cut, slices that are kept and folded, answers that are made."""
    costs, slices = model.costs, float(model.slices(float(edge_rate(scan.cut_for).value)))
    rows = 0.0 if derived else model.rate * (costs.row + model.components * costs.component)
    work = (rows + slices * (costs.emit + costs.hand_over)) * 1e-9 + model.delivering(list(scan.windows))
    return TriggerLoad(TRIGGER_STAGES * costs.stage, work * SECOND)


def choose_triggers(plan: Plan, trigger: str | None) -> dict[str, str]:
    """The trigger of each scan where bounds shall decide: its shortest bound, or what can be sustained if that is
    longer. Scans whose queries have none run as fast as they can."""
    if trigger != BOUNDS:
        return {}
    found = {one.scan: one for one in scan_triggers(plan)}
    if not found:
        raise PlanError("trigger='bounds' takes the trigger from the bounds of queries, and none of these has one: "
                        "give every=, or a trigger such as '10 seconds'.")
    return {name: one.chosen for name, one in found.items()}


def keep_loads(store: Store | None, stream: Stream) -> None:
    """Put down in the store what the last triggers of a stream took."""
    for scan in stream.scans if store else ():
        told = [trigger_metrics(scan.name, json.loads(progress.json), scan.labels, datetime.now(UTC))
                for progress in scan.query.recentProgress]
        load = trigger_load(told)
        if store and load is not None and isfinite(load.fixed):
            try:
                keep_trigger_load(store.catalog, scan.name, load)
            except CatalogError as error:  # the stream is done, and what its triggers took only helps to plan
                warn(CatalogWarning(f"What triggers took was not kept: {error}"), stacklevel=4)
