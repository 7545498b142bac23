"""The command `weft`: init, check, plan, run, stream, serve, add, drop, verify, catalog for a project; what-if,
schedule, compact, calibrate, package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft import __version__
from weft.cli.choice import PlanOptions
from weft.cli.options import (
    VIEWS,
    AlgorithmOption,
    AllOption,
    ChangesOption,
    CheckpointOption,
    ClockSkewOption,
    CoresOption,
    CrossProductsOption,
    DeadLettersOption,
    DebugOption,
    DryRunOption,
    FolderArgument,
    HoursOption,
    HtmlOption,
    IncrementalOption,
    JoinHtmlOption,
    JoinMsOption,
    JoinOptimizerOption,
    JoinWindowsOption,
    JsonLinesOption,
    JsonOption,
    KeysOption,
    MeasureOption,
    MetricsHostOption,
    MetricsPortOption,
    ModelOption,
    MovedOption,
    NamesArgument,
    OlderOption,
    OnceOption,
    OptimizerOption,
    ProjectOption,
    QueryOption,
    RateOption,
    RemoveOption,
    ResetOption,
    RowsOption,
    SelectivityOption,
    ShedOption,
    ShowOption,
    SinkArgument,
    SinkOption,
    SlicerOption,
    StoreOption,
    StreamSinkOption,
    StreamsOption,
    SvgOption,
    TargetSizeOption,
    TechniqueOption,
    TriggerOption,
    ViewArgument,
    WindowsArgument,
    ZipArgument,
)
from weft.cli.output import reporting
from weft.cli.schedule_commands import schedule
from weft.cli.serve_commands import add_commands

app = typer.Typer(
    name="weft",
    help="Runs many sliding-window Spark SQL aggregates as one shared Spark job; the answers equal Spark's own.",
    epilog="Start with: weft init demo, then cd demo, weft check, weft plan, weft run and weft verify. "
    "Exit codes: 0 ok; 1 the queries or the data are at fault; 2 wrong usage; 3 Spark or Weft failed; 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


what_if = typer.Typer(
    help="Plan what is in no project, without data or Spark.",
    epilog="Examples: weft what-if windows 16/4,10/5,8/4 --rate 1.2; "
    "weft what-if joins --streams A:10:10,B:70:10,C:20:10 --selectivity AB=0.5,BC=0.2 --join-ms 14",
    no_args_is_help=True,
)
app.add_typer(what_if, name="what-if")
app.add_typer(schedule, name="schedule")
add_commands(app)


def print_version(wanted: bool) -> None:
    """Prints the version and ends."""
    if wanted:
        typer.echo(f"weft {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=print_version, is_eager=True)
    ] = False,
) -> None:
    """Takes the options that stand before a command."""


@app.command(epilog="Example: weft init demo && cd demo && weft run")
def init(folder: FolderArgument = Path(), as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Write a small project that works: weft.toml, queries and data."""
    from weft.cli import commands

    with reporting(as_json, debug) as output:
        commands.init(output, folder)


@app.command(epilog="Example: weft check --json | jq '.errors[].reason'")
def check(
    project: ProjectOption = None,
    query: QueryOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Parse every query, check it against its source, and list all errors."""
    from weft.cli import commands

    with reporting(as_json, debug) as output:
        commands.check(output, project, query or [])


@app.command(epilog="Examples: weft plan; weft plan --html plan.html; weft plan --optimizer weave_share --measure")
def plan(
    project: ProjectOption = None,
    query: QueryOption = None,
    algorithm: AlgorithmOption = None,
    optimizer: OptimizerOption = None,
    slicer: SlicerOption = None,
    measure: MeasureOption = False,
    store: StoreOption = None,
    html: HtmlOption = None,
    moved: MovedOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show what the project's queries share, how they will run and what that costs."""
    from weft.cli import commands

    if moved:
        raise typer.BadParameter("windows without a project have a command of their own: "
                                 "weft what-if windows 16/4,10/5,8/4 --rate 1.2", param_hint="--windows")
    with reporting(as_json, debug) as output:
        chosen = PlanOptions(algorithm or [], optimizer, measure, store, slicer)
        commands.plan(output, project, query or [], chosen, html)


@what_if.command(
    epilog="Examples: weft what-if windows 16/4,10/5,8/4 --rate 1.2 --optimizer weave_share; "
    "weft what-if windows 10m/1m 1h/7s@2s --rate 500; "
    "weft what-if windows @windows.txt --model spark --rows 20e6 --json"
)
def windows(
    windows: WindowsArgument,
    optimizer: OptimizerOption = None,
    slicer: SlicerOption = None,
    model: ModelOption = None,
    rate: RateOption = None,
    algorithm: TechniqueOption = None,
    rows: RowsOption = None,
    keys: KeysOption = None,
    hours: HoursOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show which windows should share a tree, and what that costs."""
    from weft.cli.what_if import Question, plan_windows

    with reporting(as_json, debug) as output:
        asked = Question(windows, optimizer, model, algorithm or [], rate, rows, keys, hours, slicer)
        plan_windows(output, asked)


@what_if.command(
    epilog="Examples: weft what-if joins --streams A:10:10,B:70:10,C:20:10 --selectivity AB=0.5,BC=0.2 --join-ms 14; "
    "weft what-if joins --streams orders:50:5m,trades:400:30s --selectivity orders-trades=0.001 --windows time "
    "--join-ms 2 --json; "
    "weft what-if joins -s A:10:10,B:70:10,C:20:10 -f AB=0.5,BC=0.2 --join-ms 3 --svg joins.svg"
)
def joins(
    streams: StreamsOption,
    selectivity: SelectivityOption = None,
    join_ms: JoinMsOption = None,
    windows: JoinWindowsOption = "rows",
    shed: ShedOption = "rows",
    optimizer: JoinOptimizerOption = None,
    cross_products: CrossProductsOption = True,
    cores: CoresOption = 1,
    svg: SvgOption = None,
    html: JoinHtmlOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show in which order to join streams, what each order costs, and what must be dropped where none keeps up."""
    from weft.cli.what_if_joins import JoinQuestion, plan_joins

    with reporting(as_json, debug) as output:
        asked = JoinQuestion(streams, selectivity or [], join_ms, windows, shed, optimizer, cross_products, cores)
        plan_joins(output, asked, svg, html)


@app.command(
    epilog="Examples: weft run; weft run --query vwap --sink csv:/tmp/out; weft run --sink noop --json; "
    "weft run --incremental --json | jq '.sources[].new_files'; weft run --incremental --changes changes"
)
def run(
    project: ProjectOption = None,
    query: QueryOption = None,
    algorithm: AlgorithmOption = None,
    optimizer: OptimizerOption = None,
    measure: MeasureOption = False,
    sink: SinkOption = None,
    store: StoreOption = None,
    incremental: IncrementalOption = False,
    changes: ChangesOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Run the queries as one shared job and write their answers; the catalog keeps what ran."""
    from weft.cli import commands

    with reporting(as_json, debug) as output:
        choice = PlanOptions(algorithm or [], optimizer, measure, store)
        commands.run(output, project, query or [], choice, sink, incremental, changes)


@app.command(
    epilog='Examples: weft stream; weft stream vwap range_2h --trigger "10 seconds"; weft stream --once; '
    "weft stream --sink console; weft stream --metrics-port 9464; "
    "weft stream --json | jq -c '[.scan, .rows_per_second, .lag_seconds]'. "
    "SIGINT and SIGTERM stop it after the running trigger, with exit code 0; a second one at once, with 130 or 143."
)
def stream(
    queries: NamesArgument = None,
    project: ProjectOption = None,
    checkpoint: CheckpointOption = None,
    sink: StreamSinkOption = None,
    trigger: TriggerOption = None,
    once: OnceOption = False,
    algorithm: AlgorithmOption = None,
    optimizer: OptimizerOption = None,
    max_clock_skew: ClockSkewOption = None,
    dead_letters: DeadLettersOption = None,
    metrics_port: MetricsPortOption = None,
    metrics_host: MetricsHostOption = None,
    as_json: JsonLinesOption = False,
    debug: DebugOption = False,
) -> None:
    """Run the queries over sources that keep growing, and show how they do, until told to stop."""
    from weft.cli import stream as command

    # Lines of figures are all that --json prints: what is wrong goes to stderr as a sentence.
    with reporting(False, debug) as output:
        wanted = command.one_trigger(trigger, once)
        asked = command.StreamTable(checkpoint, sink, wanted, max_clock_skew, dead_letters, metrics_port, metrics_host)
        command.stream(output, project, queries or [], PlanOptions(algorithm or [], optimizer), asked, as_json)


@app.command(
    epilog="Examples: weft compact out-stream; weft compact out-stream --query vwap --older 1h; "
    "weft compact out-stream --dry-run --json | jq '.queries[].merged_files'"
)
def compact(
    sink: SinkArgument,
    query: QueryOption = None,
    older: OlderOption = None,
    target_size: TargetSizeOption = "128MB",
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Merge the small files that a stream has written; it may run on, and readers find every row once."""
    from weft.cli import compact as command

    with reporting(as_json, debug) as output:
        command.compact(output, sink, query or [], older, target_size, dry_run)


@app.command(epilog="Examples: weft verify --query vwap; weft verify --algorithm recalc --optimizer no_share")
def verify(
    project: ProjectOption = None,
    query: QueryOption = None,
    algorithm: AlgorithmOption = None,
    optimizer: OptimizerOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Run every query in Spark itself too, and compare the answers."""
    from weft.cli import commands

    with reporting(as_json, debug) as output:
        commands.verify(output, project, query or [], PlanOptions(algorithm or [], optimizer))


@app.command(
    epilog="Examples: weft catalog; weft catalog nodes; weft catalog statistics --json | jq '.statistics[].keys'; "
    "weft catalog queries --all; weft catalog --remove old_query; weft catalog plans --store /data/store"
)
def catalog(
    view: ViewArgument = VIEWS[0],
    project: ProjectOption = None,
    store: StoreOption = None,
    everything: AllOption = False,
    remove: RemoveOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show what earlier runs left: queries, nodes that they share, expressions, statistics, versions of the plan."""
    from weft.cli import catalog as commands

    with reporting(as_json, debug) as output:
        if remove:
            commands.take_out(output, project, store, remove)
        else:
            commands.show(output, project, store, view, everything)


@app.command(
    epilog="Examples: weft calibrate; weft calibrate --show; weft calibrate --show --json | jq .start; "
    "weft calibrate --reset"
)
def calibrate(
    show: ShowOption = False,
    reset: ResetOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Measure what Spark and each final algorithm take on this machine, in two minutes; plans then choose by that."""
    from weft.cli import calibration

    if show and reset:
        raise typer.BadParameter("give one of them, not both.", param_hint="--show / --reset")
    command = calibration.show if show else calibration.reset if reset else calibration.calibrate
    with reporting(as_json, debug) as output:
        command(output)


@app.command(epilog="Example: weft package && spark-submit --py-files weft.zip job.py")
def package(path: ZipArgument = Path("weft.zip"), as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Write Weft as a zip, for clusters whose workers do not have it."""
    from weft.cli import commands

    with reporting(as_json, debug) as output:
        commands.package(output, path)


def main() -> None:
    """Runs the command line."""
    app(prog_name="weft")
