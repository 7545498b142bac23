"""`weft schedule` and the commands below it."""

from __future__ import annotations

from collections.abc import Mapping

import typer

from weft.cli.choice import PlanOptions
from weft.cli.options import (
    AlgorithmOption,
    CapacityOption,
    ChangesOption,
    DebugOption,
    ForOption,
    GroupsOption,
    JsonOption,
    MetricsHostOption,
    MetricsPortOption,
    NamesArgument,
    OnceDueOption,
    OnePolicyOption,
    OptimizerOption,
    OverheadOption,
    PolicyOption,
    ProjectOption,
    RunLinesOption,
    RunsOption,
    SinkOption,
    StoreOption,
)
from weft.cli.output import reporting

# What stands alone is the callback's; a command below it, as in `weft schedule COMMAND`, is one more function here.
schedule = typer.Typer(invoke_without_command=True, subcommand_metavar="[run]")


@schedule.callback(
    epilog="Examples: weft schedule; weft schedule run --for 8h; "
    "weft schedule --groups 2m:9,3m:14,5m:29 --capacity 12; "
    "weft schedule --groups fast=30s:5+1,slow=1h:80+4 --overhead 3 --policy cyclic --json | jq '.policies[].runs'"
)
def show_schedule(
    context: typer.Context,
    groups: GroupsOption = None,
    policy: PolicyOption = None,
    capacity: CapacityOption = None,
    overhead: OverheadOption = None,
    project: ProjectOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show when the project's queries, or groups without a project, should run so that each stays fresh enough and runs
    are shared, and what that costs."""
    from weft.cli.schedule import Question, show_policies

    given = {"--groups": groups, "--policy": policy, "--capacity": capacity, "--overhead": overhead,
             "--project": project, "--store": store, "--json": as_json or None}
    if context.invoked_subcommand is not None:
        stray_options(given, f"these stand after the command: weft schedule {context.invoked_subcommand} ...")
        return
    with reporting(as_json, debug) as output:
        if groups is not None:
            show_policies(output, Question(groups, policy or [], capacity, overhead))
        else:
            costs = {name: given[name] for name in ("--capacity", "--overhead")}
            stray_options(costs, "a project's costs are the seconds of its runs: give this with --groups.")
            from weft.cli.schedule_project import show_project

            show_project(output, project, store, policy or [])


def stray_options(given: Mapping[str, object], reason: str) -> None:
    """Raises where an option is given that has no meaning there."""
    for name, value in given.items():
        if value is not None:
            raise typer.BadParameter(reason, param_hint=name)


@schedule.command(
    epilog="Examples: weft schedule run; weft schedule run --policy hybrid --for 8h --metrics-port 9464; "
    "weft schedule run --once; weft schedule run --json | jq -c '[.at, .queries, .seconds]'. "
    "SIGINT and SIGTERM end it after the running run, with exit code 0; a second one at once, with 130 or 143."
)
def run(
    queries: NamesArgument = None,
    project: ProjectOption = None,
    policy: OnePolicyOption = None,
    once: OnceDueOption = False,
    length: ForOption = None,
    runs: RunsOption = None,
    algorithm: AlgorithmOption = None,
    optimizer: OptimizerOption = None,
    sink: SinkOption = None,
    store: StoreOption = None,
    changes: ChangesOption = None,
    metrics_port: MetricsPortOption = None,
    metrics_host: MetricsHostOption = None,
    as_json: RunLinesOption = False,
    debug: DebugOption = False,
) -> None:
    """Run the project's queries whenever they are due, until told to stop; killed and started again it goes on."""
    from weft.cli import schedule_run as command

    # Lines of runs are all that --json prints: what is wrong goes to stderr as a sentence.
    with reporting(False, debug) as output:
        asked = command.RunRequest(policy, once, length, runs, sink, metrics_port, metrics_host, changes)
        choice = PlanOptions(algorithm or [], optimizer, store=store)
        command.run_schedule(output, project, queries or [], choice, asked, as_json)
