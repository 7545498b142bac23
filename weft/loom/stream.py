"""A plan as a stream: anew, or on from its checkpoint by the plan that it was started with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from os import PathLike
from typing import TYPE_CHECKING
from warnings import warn

from weft.errors import RunError, SourceError, StreamWarning
from weft.io.arrivals import parse_delay
from weft.io.formats import absolute
from weft.io.sinks import AnswerSink, Receiver, Sink, stream_sink
from weft.loom.checks import check_queries
from weft.loom.context import Context
from weft.loom.cuts import choose_cuts
from weft.loom.live import LiveControl
from weft.loom.registry import fresh_as
from weft.loom.shedding import look_at_queries
from weft.loom.triggers import BOUNDS, choose_triggers, keep_loads
from weft.loom.weaver import TOLERANCE, require_tolerance
from weft.model.workload import Workload
from weft.optimize.shed.controller import ControllerPolicy, Decision
from weft.spark.session.connect import refuse_unreachable_sink
from weft.spark.stream.checkpoint import Checkpoint, open_checkpoint
from weft.spark.stream.handle import RunningScan, Stream
from weft.spark.stream.live import last_done
from weft.spark.stream.row_windows import require_countable
from weft.spark.stream.scan_plans import UNKNOWN
from weft.spark.stream.shed_control import ShedControl, Steps
from weft.spark.stream.sinks import require_free
from weft.spark.stream.start import SCAN, StreamOptions, make_page, scan_name, start_stream
from weft.spark.write.guard import claim_letters, guard_stream, list_inputs

Target = Sink | AnswerSink | Receiver
AVAILABLE = "available"
USUAL = 1e6  # microseconds that a trigger takes, about, where it comes as soon as the one before is done

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from weft.loom.plan import Plan


@dataclass(frozen=True)
class Launch:
    """Where a stream keeps its state and writes, how late rows of its sources may come, and the page of its checkpoint
    where it has been started before."""

    checkpoint: str
    sink: AnswerSink
    letters: str
    delays: Mapping[str, int]
    before: Checkpoint | None


def prepare_start(context: Context, workload: Workload, checkpoint: str | PathLike[str],
                  sink: str | Mapping[str, str] | Target, dead_letters: str | None) -> Launch:
    """What a start needs to know before it plans; raises where these queries cannot be started there."""
    place, target = absolute(str(checkpoint)), stream_sink(sink)
    letters = absolute(dead_letters or f"{place.rstrip('/')}/dead_letters")
    delays = require_start(context, workload, place, target, letters)
    before = open_checkpoint(place)
    if before is not None:
        before.require_same(place, workload, delays, context.checker.identity)
    return Launch(place, target, letters, delays, before)


def require_start(context: Context, workload: Workload, checkpoint: str, sink: AnswerSink,
                  letters: str) -> dict[str, int]:
    """Raise where these queries cannot be a stream from there to a sink; how late rows of their sources may come."""
    require_countable(workload)
    sources = context.sources
    inputs = list_inputs(workload, sources.origins, sources.frames)
    guard_stream(context.spark, sink, workload, inputs, checkpoint, letters, context.store)
    require_tables(context, workload)
    names = dict.fromkeys(name for bound in workload for name in bound.query.streams)
    return {name: sources[name].stream.delay(context.spark) for name in names}


def resume_workload(context: Context, workload: Workload, before: Checkpoint) -> tuple[Workload, Workload]:
    """The queries that a stream goes on with, and those that only shape what it keeps: where they have changed while it
    ran, they are those of its checkpoint, whatever the loom has."""
    if before.plan_version == 1:
        return workload, ()
    found = {b.query.name: b for b in check_queries(context, before.texts)}
    for name in dict.fromkeys(name for bound in found.values() for name in bound.query.streams):
        if before.delays.get(name) != context.sources[name].stream.delay(context.spark):
            raise RunError(f"the watermark of source '{name}' is another than that of the checkpoint, whose queries "
                           "read it: register the source as it was.")
    timed = {name: fresh_as(bound, before.every.get(name)) for name, bound in found.items()}
    return (tuple(bound for name, bound in timed.items() if name in before.queries),
            tuple(bound for name, bound in timed.items() if name not in before.queries))


def require_tables(context: Context, workload: Workload) -> None:
    """Let the tables that are joined read the files that are there now; raise where one is a stream."""
    for query in (bound.query for bound in workload):
        for each in query.join.inputs if query.join else ():
            if each.time is None:
                context.sources.refresh_files(each.source)
            if each.time is None and context.sources.frames[each.source].isStreaming:
                raise SourceError(f"source '{each.source}' is a stream without an event time, and query '{query.name}' "
                                  "joins it: register it with `time` and `watermark`, and bind its time in the join.")


def start_prepared(plan: Plan, launch: Launch, trigger: str | None, max_clock_skew: str | None,
                   overload: ControllerPolicy = ControllerPolicy(),
                   drift_tolerance: float | None = TOLERANCE) -> Stream:
    """The running stream of a plan, which is that of the checkpoint where there is one."""
    context, spark, tolerance = plan.context, plan.context.spark, require_tolerance(drift_tolerance)
    ahead = None if max_clock_skew is None else parse_delay(spark, max_clock_skew, "max_clock_skew")
    each = choose_triggers(plan, trigger)
    if launch.before is None:
        plan = choose_cuts(plan, trigger_span(spark, trigger))
    wanted = StreamOptions(launch.checkpoint, launch.sink, None if each else trigger, ahead, launch.letters, each)
    refuse_unreachable_sink(spark, wanted.sink)
    arriving = {source.name: source.stream for source in plan.sources}
    page = make_page(spark, launch.before, plan.shared, plan.stages, arriving, wanted, launch.delays,
                     context.checker.identity)
    page = page.kept(context.sources.steps_of(plan.sources))
    require_free(launch.sink, page.identity, list(page.queries))
    claim_letters(launch.checkpoint, launch.letters, page.identity, launch.before is None)
    stream = start_stream(spark, plan.shared, plan.stages, arriving, wanted, page, context.ansi, context.sources.frames)
    stream.when_ended, stream.explained = partial(keep_loads, context.store), plan.explain
    if trigger != AVAILABLE:
        stream.live = LiveControl(stream, plan, page, launch, wanted, trigger, tolerance)
    control_stream(plan, stream, wanted, page, overload)
    return stream


def trigger_span(spark: SparkSession, trigger: str | None) -> float | None:
    """Of how many microseconds a trigger brings the rows, where rows come as fast as their event times say; None where
    it brings all that there are."""
    if trigger == AVAILABLE:
        return None
    return USUAL if trigger in (None, BOUNDS) else parse_delay(spark, str(trigger), "the trigger") * 1000.0


def control_stream(plan: Plan, stream: Stream, wanted: StreamOptions, page: Checkpoint,
                   policy: ControllerPolicy) -> None:
    """Let the controller watch a stream of which some queries have error bounds and rows may be dropped; what a user
    drops stays as it is."""
    context = plan.context
    kept = context.sources.steps_of(plan.sources)
    steps = {name: mine for name, mine in kept.items() if not context.sources[name].drop}
    bounded = [b.query for b in plan.workload if b.query.shed not in (None, inf)]
    if not bounded or not steps or wanted.trigger == AVAILABLE:
        return
    if wanted.trigger is None:
        warn(StreamWarning(f"query '{bounded[0].name}' accepts an error, but how much a stream has to do that runs as "
                           "fast as it can cannot be told, so no row is dropped: give it a trigger such as "
                           "'5 seconds'."), stacklevel=4)
        return

    def restart(now: Steps, seconds: float, decision: Decision | None) -> Stream:
        context.sources.set_steps(now)
        arriving = {source.name: context.sources[source.name].stream for source in plan.sources}
        nonlocal page
        page = page if decision is None else page.kept({**kept, **now}).decided(decision)
        other = replace(wanted, trigger=f"{round(seconds * 1000)} milliseconds")
        return start_stream(context.spark, plan.shared, plan.stages, arriving, other, page, context.ansi,
                            context.sources.frames)

    trigger = parse_delay(context.spark, wanted.trigger, "the trigger") / 1000
    places = {scan_name(scan): context.sources.base_of(scan.root.stage.source) for scan in plan.stages.scans}
    watched = {name: source for name, source in places.items() if source in steps}

    def done(scan: RunningScan) -> int | None:
        begun = scan.plans.begun if scan.plans else UNKNOWN
        return last_done(wanted.checkpoint, scan.name.removeprefix(SCAN), begun)

    control = ShedControl(stream, steps, trigger, watched, partial(look_at_queries, context, plan.workload),
                          restart, policy, done)
    control.start()
