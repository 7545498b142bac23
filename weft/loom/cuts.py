"""Who cuts the rows of a stream into slices: Spark or workers, by what is measured of its source."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from weft.cost.cutting import CutScan, stream_in_workers
from weft.loom.context import Context
from weft.model.plan import Scan
from weft.model.stages import PartialStage
from weft.model.statistics import Statistics
from weft.spark.stages.row_lifts import has_lifts
from weft.spark.stream.partial import worker_columns
from weft.spark.write.one_pass import scan_size

if TYPE_CHECKING:
    from weft.loom.plan import Plan


def choose_cuts(plan: Plan, trigger: float | None) -> Plan:
    """The plan of a new stream in which each scan is cut by those who take less time for a trigger, which brings the
    rows of so many microseconds, or where that is None all that there are. Scans of sources that nobody measured stay
    as they are."""
    roots = (graph.root.stage for graph in plan.stages.scans)
    scans = tuple(choose_cut(plan.context, scan, stage, trigger)
                  for scan, stage in zip(plan.shared.scans, roots, strict=True))
    if scans == plan.shared.scans:
        return plan
    shared = replace(plan.shared, scans=scans)
    return replace(plan, shared=shared, stages=plan.context.build(shared))


def choose_cut(context: Context, scan: Scan, stage: PartialStage, trigger: float | None) -> Scan:
    """A scan with who cuts it, where that can be known."""
    known = known_rows(context, scan)
    if known is None or stage.counts_rows or scan.head.query.join or not has_lifts(stage):
        return scan
    brought = 1.0 if trigger is None else min(trigger / known.span, 1.0)
    whole = scan_size(stage, known)
    size = CutScan(whole.rows * brought, whole.columns, whole.slices * brought)
    sent = len(stage.keys) + 1 + stage.marks + len(worker_columns(stage))
    return replace(scan, cut_by="workers" if stream_in_workers(size, sent) else "spark")


def known_rows(context: Context, scan: Scan) -> Statistics | None:
    """What is measured of the rows that a scan reads, by those of its predicates that most rows pass; None where
    something of it is not measured."""
    found = [context.sizes.of(bound) for bound in scan.queries]
    measured = [each for each in found if each is not None]
    return max(measured, key=lambda each: each.rows) if measured and len(measured) == len(found) else None
