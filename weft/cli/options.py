"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.optimize import OPTIMIZERS

WHAT_IF = "What if: --windows"
# What `weft catalog` shows.
VIEWS = ("queries", "nodes", "expressions", "statistics", "plans")

ProjectOption = Annotated[
    Path | None,
    typer.Option(
        "--project",
        "-p",
        metavar="DIR",
        help="The folder that holds weft.toml; else the nearest one at or above the working directory.",
        exists=True,
        file_okay=False,
    ),
]
QueryOption = Annotated[
    list[str] | None,
    typer.Option("--query", "-q", metavar="NAME", help="Only this query; give it again for more.", show_default=False),
]
AlgorithmOption = Annotated[
    list[str] | None,
    typer.Option(
        "--algorithm",
        "-a",
        metavar="[FUNCTION=]NAME",
        help="Fold with this final algorithm instead of the cheapest: all functions, or one as in max=slick_deque. "
        "Give it again for more. docs/algorithms.md lists them.",
        show_default=False,
    ),
]
OptimizerOption = Annotated[
    str | None,
    typer.Option(
        "--optimizer",
        "-o",
        metavar="NAME",
        help=f"Group the queries into trees with this optimizer: {', '.join(o.name for o in OPTIMIZERS)}. "
        f"{OPTIMIZERS[0].name} unless weft.toml names another. docs/planning.md describes them.",
        show_default=False,
    ),
]
MeasureOption = Annotated[
    bool,
    typer.Option("--measure", help="First count the rows, keys and time of every source, one pass each; plans are then "
                 "priced for them."),
]
WindowsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--windows",
        "-w",
        metavar="WINDOWS",
        help='Plan these windows instead of a project, without data or Spark: "16/4,10/5@2" in any unit, "10m/1m" in '
        "us, ms, s, m, h or d, or @FILE with one a line. Give it again for more.",
        show_default=False,
        rich_help_panel=WHAT_IF,
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="What a plan of --windows costs: paper (operations per unit of time; needs --rate; --algorithm names its "
        "technique, panes if not) or spark (seconds).",
        show_default="paper",
        rich_help_panel=WHAT_IF,
    ),
]
RateOption = Annotated[
    float | None,
    typer.Option("--rate", help="Tuples per unit of time, per second where windows are durations (paper).",
                 show_default=False, rich_help_panel=WHAT_IF),
]
RowsOption = Annotated[
    float | None,
    typer.Option("--rows", help="Rows of the source (spark).", show_default="2 million", rich_help_panel=WHAT_IF),
]
KeysOption = Annotated[
    float | None,
    typer.Option("--keys", help="Distinct keys of the source (spark).", show_default="1000", rich_help_panel=WHAT_IF),
]
HoursOption = Annotated[
    float | None,
    typer.Option("--hours", help="Hours that its rows span (spark).", show_default="10", rich_help_panel=WHAT_IF),
]
SinkOption = Annotated[
    str | None,
    typer.Option("--sink", metavar="SINK", help="Write there instead: noop, FORMAT, FORMAT:PATH or PATH."),
]
StoreOption = Annotated[
    str | None,
    typer.Option("--store", metavar="DIR", help="The folder of the catalog, instead of the project's .weft; "
                 '"" is for none.', show_default=False),
]
IncrementalOption = Annotated[
    bool,
    typer.Option("--incremental", help="Keep slices in the store and read only files that are new since the last such "
                 "run; the answers are those over all files."),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Also write the plan as a web page.", dir_okay=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, to stdout.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
ShowOption = Annotated[bool, typer.Option("--show", help="Print the figures in use; measure nothing.")]
ResetOption = Annotated[
    bool, typer.Option("--reset", help="Remove this machine's own figures; those that Weft ships hold again.")
]
ViewArgument = Annotated[
    str, typer.Argument(metavar="[VIEW]", help=f"What to show: {', '.join(VIEWS)}.", show_default=VIEWS[0])
]
AllOption = Annotated[bool, typer.Option("--all", help="Also queries that were replaced or removed.")]
RemoveOption = Annotated[
    list[str] | None,
    typer.Option("--remove", metavar="NAME", help="Take this query out of the catalog, keeping its history; give it "
                 "again for more.", show_default=False),
]
FolderArgument = Annotated[
    Path, typer.Argument(metavar="[DIR]", help="The new project's folder.", file_okay=False, show_default=False)
]
ZipArgument = Annotated[Path, typer.Argument(metavar="PATH", help="The zip to write.", dir_okay=False)]
