"""The commands of the service: serve, add and drop."""

from __future__ import annotations

import typer

from weft.cli.options import (
    CertificateOption,
    DebugOption,
    DryRunOption,
    JsonOption,
    KeyOption,
    ProjectOption,
    QueryNameArgument,
    ReplaceOption,
    ServeHostOption,
    ServePortOption,
    ServeRunOption,
    SqlFileArgument,
    TokenFileOption,
)
from weft.cli.output import reporting

SERVE = (
    "Examples: weft serve; weft serve --port 9000; weft serve --run both; "
    "weft serve --host 0.0.0.0 --token-file token --certificate cert.pem --key key.pem; "
    "curl -s localhost:8464/api/queries | jq '.queries[].name'. "
    "The token may also be in the environment, as WEFT_TOKEN. SIGINT and SIGTERM stop it after the running trigger, "
    "with exit code 0; killed and started again it goes on with the queries that were added."
)
ADD = "Examples: weft add high high.sql --dry-run; weft add high high.sql; weft add high better.sql --replace"
DROP = "Examples: weft drop high --dry-run; weft drop high"


def add_commands(app: typer.Typer) -> None:
    """Gives the command line these commands."""
    for command, epilog in ((serve, SERVE), (add, ADD), (drop, DROP)):
        app.command(epilog=epilog)(command)


def serve(
    project: ProjectOption = None,
    host: ServeHostOption = None,
    port: ServePortOption = None,
    run: ServeRunOption = None,
    token_file: TokenFileOption = None,
    certificate: CertificateOption = None,
    key: KeyOption = None,
    debug: DebugOption = False,
) -> None:
    """Run the project's stream and schedule with an API and a page, until told to stop."""
    from weft.cli import serve as command
    from weft.cli.serve_table import ServeTable

    with reporting(False, debug) as output:
        command.serve(output, project, ServeTable(host, port, run, token_file, certificate, key))


def add(
    name: QueryNameArgument,
    file: SqlFileArgument,
    project: ProjectOption = None,
    replace: ReplaceOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Add a query to the project that `weft serve` runs; with --dry-run say what it would share, cost and need."""
    from weft.cli import remote

    with reporting(as_json, debug) as output:
        remote.add(output, project, name, file, replace, dry_run)


def drop(
    name: QueryNameArgument,
    project: ProjectOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Drop a query of the project that `weft serve` runs."""
    from weft.cli import remote

    with reporting(as_json, debug) as output:
        remote.drop(output, project, name, dry_run)
