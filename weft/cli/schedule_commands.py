"""`weft schedule` and the commands below it."""

from __future__ import annotations

import typer

from weft.cli.options import CapacityOption, DebugOption, GroupsOption, JsonOption, OverheadOption, PolicyOption
from weft.cli.output import reporting

# What stands alone is the callback's; a command below it, as in `weft schedule COMMAND`, is one more function here, and
# then the usage names it.
schedule = typer.Typer(invoke_without_command=True, subcommand_metavar="")


@schedule.callback(
    epilog="Examples: weft schedule --groups 2m:9,3m:14,5m:29; weft schedule --groups 2m:9,3m:14,5m:29 --capacity 12; "
    "weft schedule --groups fast=30s:5+1,slow=1h:80+4 --overhead 3 --policy cyclic --json | jq '.policies[].runs'"
)
def show_schedule(
    context: typer.Context,
    groups: GroupsOption = None,
    policy: PolicyOption = None,
    capacity: CapacityOption = None,
    overhead: OverheadOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show when groups of queries should run so that each stays fresh enough and runs are shared, and what it costs."""
    from weft.cli.schedule import Question, show_policies

    if context.invoked_subcommand is None:
        with reporting(as_json, debug) as output:
            show_policies(output, Question(groups or [], policy or [], capacity, overhead))
