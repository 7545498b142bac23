"""A plan as a stream: anew, or on from its checkpoint by the plan that it was started with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

from weft.io.arrivals import parse_delay
from weft.io.formats import absolute
from weft.io.sinks import AnswerSink, Receiver, Sink, stream_sink
from weft.loom.context import Context
from weft.model.workload import Workload
from weft.spark.session.connect import refuse_unreachable_sink
from weft.spark.stream.checkpoint import Checkpoint, open_checkpoint
from weft.spark.stream.handle import Stream
from weft.spark.stream.row_windows import require_countable
from weft.spark.stream.sinks import require_free
from weft.spark.stream.start import StreamOptions, make_page, start_stream
from weft.spark.write.guard import claim_letters, guard_stream, list_inputs

Target = Sink | AnswerSink | Receiver

if TYPE_CHECKING:
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
    require_countable(workload)
    place, target, sources = absolute(str(checkpoint)), stream_sink(sink), context.sources
    letters = absolute(dead_letters or f"{place.rstrip('/')}/dead_letters")
    inputs = list_inputs(workload, sources.origins, sources.frames)
    guard_stream(context.spark, target, workload, inputs, place, letters, context.store)
    names = dict.fromkeys(bound.query.source for bound in workload)
    delays = {name: sources[name].stream.delay(context.spark) for name in names}
    before = open_checkpoint(place)
    if before is not None:
        before.require_same(place, workload, delays, context.checker.identity)
    return Launch(place, target, letters, delays, before)


def start_prepared(plan: Plan, launch: Launch, trigger: str | None, max_clock_skew: str | None) -> Stream:
    """The running stream of a plan, which is that of the checkpoint where there is one."""
    context, spark = plan.context, plan.context.spark
    ahead = None if max_clock_skew is None else parse_delay(spark, max_clock_skew, "max_clock_skew")
    wanted = StreamOptions(launch.checkpoint, launch.sink, trigger, ahead, launch.letters)
    refuse_unreachable_sink(spark, wanted.sink)
    arriving = {source.name: source.stream for source in plan.sources}
    page = make_page(spark, launch.before, plan.shared, plan.stages, arriving, wanted, launch.delays,
                     context.checker.identity)
    require_free(launch.sink, page.identity, list(page.queries))
    claim_letters(launch.checkpoint, launch.letters, page.identity, launch.before is None)
    return start_stream(spark, plan.shared, plan.stages, arriving, wanted, page, context.ansi)
