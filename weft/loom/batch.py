"""A plan as a batch: checked before anything is written, run or compared with Spark's own, and kept in the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from os import PathLike, fspath
from os.path import abspath, exists
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from warnings import warn

from weft.catalog.store import CatalogWarning, Store
from weft.errors import CatalogError, RefusedError, RunError
from weft.io.sinks import AnswerSink, FolderSink, Receiver, Sink, batch_sink
from weft.loom.context import Context
from weft.loom.planning import require_incremental
from weft.model.graph import StageGraph
from weft.model.query import Query
from weft.model.stages import ReadStage
from weft.model.workload import Workload
from weft.spark.batch.run import Results, build_parts, leave_unobserved
from weft.spark.batch.verify import Verification, verify
from weft.spark.incremental.fingerprint import answer_settings, own_functions
from weft.spark.incremental.parts import kept_parts
from weft.spark.incremental.run import SliceReader
from weft.spark.incremental.snapshot import snapshot_of
from weft.spark.refresh.run import refresh_results
from weft.spark.session.jobs import run_jobs
from weft.spark.session.session import temporary_settings
from weft.spark.session.workers import is_local, require_workers
from weft.spark.statistics.observe import SizeObserver
from weft.spark.write.answers import Progress, report_nothing
from weft.spark.write.guard import guard_changes, guard_run, list_inputs, require_names, require_outputs
from weft.spark.write.one_pass import RowAccess
from weft.spark.write.write import translate_errors, write_results

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from weft.loom.plan import Plan

# How a session writes times; of its ways, one loses digits.
TIMES, COARSE, EXACT = "spark.sql.parquet.outputTimestampType", "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS"


def prepare_run(context: Context, workload: Workload,
                sink: str | Mapping[str, str] | Sink | AnswerSink | None,
                changes: str | PathLike[str] | Receiver | None = None) -> AnswerSink | None:
    """Where a run writes; raises, before anything is planned, where that is anything but its own earlier results.

    From then on the sources read the files that are there now.
    """
    target, sources = None if sink is None else batch_sink(sink), context.sources
    sources.refresh(bound.query.source for bound in workload)
    if target is not None:
        inputs = list_inputs(workload, sources.origins, sources.frames)
        guard_run(context.spark, target, workload, inputs, context.store)
        if isinstance(changes, str | PathLike):
            guard_changes(fspath(changes), target, inputs, context.store)
    return target


def spell_changes(changes: str | PathLike[str] | Receiver | None, incremental: bool,
                  target: AnswerSink | None) -> str | Receiver | None:
    """Where changes go, a folder from the root or a function; raises where no run could tell them."""
    if changes is None:
        return None
    if not incremental or target is None:
        raise RunError("changes are found by incremental runs into a sink: give incremental=True and a sink, or leave "
                       "changes out.")
    return abspath(fspath(changes)) if isinstance(changes, str | PathLike) else changes


def run_prepared(plan: Plan, target: AnswerSink | None, progress: Progress | None, incremental: bool,
                 workload: Workload, changes: str | Receiver | None = None) -> Results:
    """The results of a plan's queries, or of a part of them, written where there is a sink; the store keeps the plan
    and how large what ran was."""
    context, tell = plan.context, progress or report_nothing
    stages = plan.stages if len(workload) == len(plan.workload) else plan.stages.narrow(names_of(workload))
    if incremental:
        require_incremental(context, workload)  # before anything of the run is kept
    if context.store:
        asked = [replace(bound.query, source=context.sources.base_of(bound.query.source)) for bound in plan.queries]
        context.store.record(plan.optimizer, asked, plan.stages, plan.explain)
    if incremental:
        return run_from_kept(context, stages, workload, target, tell, changes)
    observer = SizeObserver() if context.store and target is not None else None
    parts = build_parts(stages, context.slices, observer or leave_unobserved)
    access = RowAccess(context.rows, context.sources.whole_parquet, context.known_rows,
                       observer.learn if observer else None)
    report = () if target is None else write_results(context.spark, stages, parts, target, tell, access)
    if observer and context.store:
        keep_run_sizes(context.store, observer)
    return Results(parts.values(), report, (), context.checker.settings.pinned())


def names_of(workload: Workload) -> list[str]:
    """The names of queries."""
    return [bound.query.name for bound in workload]


def run_from_kept(context: Context, stages: StageGraph, workload: Workload, target: AnswerSink | None,
                  tell: Progress, changes: str | Receiver | None = None) -> Results:
    """The results of stages over kept slices, which are brought up to date first; then so is what lies in a sink."""
    reader = bring_up(context, stages, workload, tell)
    parts = kept_parts(context.spark, stages, reader)
    report = () if target is None else refresh_results(context.spark, stages, reader, parts, target, tell, changes)
    return Results(parts.values(), report, reader.report, context.checker.settings.pinned())


def bring_up(context: Context, stages: StageGraph, workload: Workload, tell: Progress) -> SliceReader:
    """The kept slices of stages, with those of files that are new."""
    catalog = require_incremental(context, workload)
    require_workers(context.spark)
    files, frames = context.sources.files, context.sources.frames
    names = [node.stage.source for node in stages.of(ReadStage)]
    looks: list[Callable[[], Any]] = [partial(answer_settings, context.spark), partial(own_functions, context.spark)]
    looks += [partial(snapshot_of, context.spark, name, files[name], frames[name]) for name in names]
    with translate_errors():
        settings, own, *found = run_jobs(context.spark, looks)
        reader = SliceReader(context.spark, catalog, dict(zip(names, found, strict=True)), settings, own,
                             lambda text: tell(0, 1, text))
        reader.bring_up(stages)
    return reader


def keep_run_sizes(store: Store, observer: SizeObserver) -> None:
    """Put what a run found out into the store."""
    try:
        store.keep_run(observer.sizes())
    except CatalogError as error:  # the answers are in place, and sizes only help to plan
        warn(CatalogWarning(f"The run is done, but its sizes were not kept: {error}"), stacklevel=4)


def verify_prepared(plan: Plan, progress: Progress | None) -> Verification:
    """How the rows of every query compare with Spark's own: those that a run writes, where Parquet can hold them and
    workers see the same disk, else those of lazy results."""
    context, queries, tell = plan.context, [bound.query for bound in plan.workload], progress or report_nothing
    with (TemporaryDirectory(prefix="weft-verify-") as folder,
          Results(build_parts(plan.stages, context.slices).values()) as lazy):
        sink = FolderSink("parquet", folder)
        names = [query.name for query in queries if can_write(context.spark, sink, query)]
        if is_local(context.spark) and names:
            run_to_compare(context, plan.stages.narrow(names), sink, lambda *_: tell(0, len(queries), "running them"))
        found = {name: read_back(context.spark, sink, name, frame) for name, frame in lazy.items()}
        return verify(found, queries, context.checker.native, tell)


def can_write(spark: SparkSession, sink: AnswerSink, query: Query) -> bool:
    """Whether a sink can hold the rows of a query, under its name."""
    try:
        require_outputs(spark, sink.facts, [query])
        require_names([query.name])
    except (RefusedError, RunError):
        return False
    return True


def run_to_compare(context: Context, stages: StageGraph, sink: AnswerSink, tell: Progress) -> None:
    """Write the rows of stages as a run does; the store hears nothing of it."""
    access = RowAccess(context.rows, context.sources.whole_parquet, context.known_rows)
    times = str(context.spark.conf.get(TIMES))
    with temporary_settings(context.spark, {TIMES: EXACT if times.upper() == COARSE else times}):
        write_results(context.spark, stages, build_parts(stages, context.slices), sink, tell, access)


def read_back(spark: SparkSession, sink: FolderSink, name: str, lazy: DataFrame) -> DataFrame:
    """What was written of a query, or its lazy result where nothing was."""
    path = sink.output_path(name)
    return spark.read.schema(lazy.schema).format(sink.format).load(path) if exists(path) else lazy
