"""The command `weft`: init, check, plan, run, verify over a project folder; calibrate, package for the machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft import __version__
from weft.cli.options import (
    AlgorithmOption,
    DebugOption,
    FolderArgument,
    HtmlOption,
    JsonOption,
    ProjectOption,
    QueryOption,
    ResetOption,
    ShowOption,
    SinkOption,
    ZipArgument,
)
from weft.cli.output import reporting

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


@app.command(epilog="Examples: weft plan --html plan.html; weft plan --algorithm max=doubling --algorithm add=chain")
def plan(
    project: ProjectOption = None,
    query: QueryOption = None,
    algorithm: AlgorithmOption = None,
    html: HtmlOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show what the queries share and how they will run."""
    from weft.cli import commands

    with reporting(as_json, debug) as output:
        commands.plan(output, project, query or [], algorithm or [], html)


@app.command(epilog="Examples: weft run; weft run --query vwap --sink csv:/tmp/out; weft run --sink noop --json")
def run(
    project: ProjectOption = None,
    query: QueryOption = None,
    algorithm: AlgorithmOption = None,
    sink: SinkOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Run the queries as one shared job and write their answers."""
    from weft.cli import commands

    with reporting(as_json, debug) as output:
        commands.run(output, project, query or [], algorithm or [], sink)


@app.command(epilog="Examples: weft verify --query vwap; weft verify --algorithm recalc")
def verify(
    project: ProjectOption = None,
    query: QueryOption = None,
    algorithm: AlgorithmOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Run every query in Spark itself too, and compare the answers."""
    from weft.cli import commands

    with reporting(as_json, debug) as output:
        commands.verify(output, project, query or [], algorithm or [])


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
    """Measure what each final algorithm takes on this machine; plans then choose by these figures."""
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
