"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.optimize import OPTIMIZERS
from weft.optimize.join_order import EVERY_JOIN_OPTIMIZER
from weft.optimize.schedule import POLICIES
from weft.slicing import PAIRS, SLICERS

# What `weft catalog` shows.
VIEWS = ("queries", "nodes", "expressions", "statistics", "plans", "runs")

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
        f"Options of a search stand behind its name, as in {OPTIMIZERS[2].variants[0].name}. "
        f"{OPTIMIZERS[0].name} unless weft.toml names another. docs/planning.md describes them.",
        show_default=False,
    ),
]
SlicerOption = Annotated[
    str | None,
    typer.Option(
        "--slicer",
        metavar="NAME",
        help=f"Cut time into slices with {', '.join(s.name for s in SLICERS)} instead of {PAIRS.name}, to see what it "
        "costs. docs/planning.md says how they differ.",
        show_default=False,
    ),
]
MeasureOption = Annotated[
    bool,
    typer.Option("--measure", help="First count the rows, keys and time of every source, one pass each; plans are then "
                 "priced for them."),
]
MovedOption = Annotated[
    list[str] | None,
    typer.Option("--windows", "-w", "--model", "--rate", "--rows", "--keys", "--hours", hidden=True,
                 help="What `weft what-if windows` takes now; here to say so."),
]
WindowsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="WINDOWS",
        help='The windows as range/slide or range/slide@start: "16/4,10/5@2" in any unit, "10m/1m" in us, ms, s, m, h '
        "or d, or @FILE with one a line.",
        show_default=False,
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="MODEL", help="What a plan costs: paper (operations per unit of time; needs "
                 "--rate) or spark (seconds).", show_default="paper"),
]
TechniqueOption = Annotated[
    list[str] | None,
    typer.Option("--algorithm", "-a", metavar="NAME", help="The final technique that a plan is priced with (paper).",
                 show_default="panes"),
]
RateOption = Annotated[
    float | None,
    typer.Option("--rate", help="Tuples per unit of time, per second where windows are durations (paper).",
                 show_default=False),
]
RowsOption = Annotated[
    float | None, typer.Option("--rows", help="Rows of the source (spark).", show_default="2 million")
]
KeysOption = Annotated[
    float | None, typer.Option("--keys", help="Distinct keys of the source (spark).", show_default="1000")
]
HoursOption = Annotated[
    float | None, typer.Option("--hours", help="Hours that its rows span (spark).", show_default="10")
]
StreamsOption = Annotated[
    list[str],
    typer.Option(
        "--streams",
        "-s",
        metavar="STREAMS",
        help="The streams as name:rate:window, separated by commas: A:10:10,B:70:10. Rates are rows a second; windows "
        "are so many rows, or with --windows time seconds or durations (30s, 5m), or 10rows for what holds ten rows at "
        "the full rate.",
        show_default=False,
    ),
]
SelectivityOption = Annotated[
    list[str] | None,
    typer.Option(
        "--selectivity",
        "-f",
        metavar="PAIRS",
        help="For each pair of streams that a condition joins the share of all pairs of rows that match: "
        "AB=0.5,BC=0.2, or orders-trades=0.5. Pairs that are not given are cross products.",
        show_default=False,
    ),
]
JoinWindowsOption = Annotated[
    str, typer.Option("--windows", metavar="rows|time", help="Whether windows are so many rows or so much time.")
]
JoinMsOption = Annotated[
    float | None,
    typer.Option("--join-ms", metavar="MS", help="Milliseconds that a join takes for a row of either side.",
                 show_default=False),
]
ShedOption = Annotated[
    str,
    typer.Option("--shed", metavar="rows|keys", help="What drop boxes decide by: each row for itself, or a hash of the "
                 "join key that is the same for all streams (windows of time only)."),
]
JoinOptimizerOption = Annotated[
    str | None,
    typer.Option("--optimizer", "-o", metavar="NAME", help=f"Choose the order with "
                 f"{', '.join(o.name for o in EVERY_JOIN_OPTIMIZER)}.", show_default="exhaustive"),
]
CrossProductsOption = Annotated[
    bool,
    typer.Option("--cross-products/--no-cross-products", help="Also orders that join streams without a condition."),
]
CoresOption = Annotated[float, typer.Option("--cores", metavar="N", help="Cores that the joins may use.")]
SvgOption = Annotated[
    Path | None,
    typer.Option("--svg", metavar="FILE", help="Also draw the chosen plan as SVG.", dir_okay=False),
]
JoinHtmlOption = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Also write the chosen plan as a web page.", dir_okay=False),
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
ChangesOption = Annotated[
    str | None,
    typer.Option("--changes", metavar="DIR", help="Also write the rows that came and went since the last run, in "
                 "numbered files of each query.", show_default=False),
]
CheckpointOption = Annotated[
    str | None,
    typer.Option("--checkpoint", metavar="DIR", help="Where the stream keeps how far it is; started again with the "
                 "same one it goes on from there. .weft/checkpoint of the project unless weft.toml names another.",
                 show_default=False),
]
StreamSinkOption = Annotated[
    str | None,
    typer.Option("--sink", metavar="SINK", help="Write there instead of out-stream: console, noop, FORMAT, FORMAT:PATH "
                 "or PATH.", show_default=False),
]
TriggerOption = Annotated[
    str | None,
    typer.Option("--trigger", metavar="LENGTH", help='How often to look for rows, as in "10 seconds"; else again as '
                 "soon as it is done.", show_default=False),
]
OnceOption = Annotated[bool, typer.Option("--once", help="Read what is there now, answer, and end.")]
ClockSkewOption = Annotated[
    str | None,
    typer.Option("--max-clock-skew", metavar="LENGTH", help='Rows that are further ahead of the clock than this, as in '
                 '"1 day", are dead letters; "" takes them all.', show_default=False),
]
DeadLettersOption = Annotated[
    str | None,
    typer.Option("--dead-letters", metavar="DIR", help="Where rows go that cannot be used; else dead_letters in the "
                 "checkpoint.", show_default=False),
]
MetricsPortOption = Annotated[
    int | None,
    typer.Option("--metrics-port", metavar="N", min=0, max=65535, help="Serve /metrics for Prometheus, and /health, on "
                 "this port; 0 is any that is free.", show_default=False),
]
MetricsHostOption = Annotated[
    str | None,
    typer.Option("--metrics-host", metavar="HOST", help="The address that serves them: 0.0.0.0 lets other machines in.",
                 show_default="127.0.0.1"),
]
JsonLinesOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object a trigger and scan, and nothing else, to stdout.")
]
SinkArgument = Annotated[
    str, typer.Argument(metavar="SINK", help="The folder that a stream writes to, with a folder for each query.",
                        show_default=False)
]
OlderOption = Annotated[
    str | None,
    typer.Option("--older", metavar="AGE", help="Only files that are older, as in 1h or 2 days.", show_default=False),
]
TargetSizeOption = Annotated[
    str, typer.Option("--target-size", metavar="SIZE", help="Make files of at most this size.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would be done; change nothing.")]
NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="QUERY", help="Only these queries.", show_default=False),
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
GroupsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--groups",
        "-g",
        metavar="GROUPS",
        help='Queries that run together, as bound:cost: "2m:9,3m:14" is at least every 2 minutes at a cost of 9 a run, '
        'and every 3 at 14. "fast=2m:9+1.5" names a group and says what it reads and what its answers cost.',
        show_default=False,
    ),
]
PolicyOption = Annotated[
    list[str] | None,
    typer.Option("--policy", metavar="NAME", help=f"Only this policy: {', '.join(p.name for p in POLICIES)}; give it "
                 "again for more.", show_default="all"),
]
CapacityOption = Annotated[
    float | None,
    typer.Option("--capacity", metavar="COST", help="The cost that is done in a minute: runs then take time, wait for "
                 "each other and may miss bounds.", show_default="all at once"),
]
OverheadOption = Annotated[
    float | None,
    typer.Option("--overhead", metavar="COST", help="What a run costs however little it does.", show_default="0"),
]
OnePolicyOption = Annotated[
    str | None,
    typer.Option("--policy", metavar="NAME", help=f"The policy to run by: {', '.join(p.name for p in POLICIES)}.",
                 show_default="the one that costs least"),
]
OnceDueOption = Annotated[bool, typer.Option("--once", help="Run what is due now, and end.")]
ForOption = Annotated[
    str | None,
    typer.Option("--for", metavar="LENGTH", help="End after that long, as in 90s, 10m or 8h, when the running run is "
                 "over.", show_default="until it is told to stop"),
]
RunsOption = Annotated[
    int | None, typer.Option("--runs", metavar="N", min=1, help="End after so many runs.", show_default=False)
]
RunLinesOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object a run, and nothing else, to stdout.")
]

ServeHostOption = Annotated[
    str | None,
    typer.Option("--host", metavar="HOST", help="The address to listen on. Any other than this machine's own needs "
                 "--token-file, --certificate and --key.", show_default="127.0.0.1"),
]
ServePortOption = Annotated[
    int | None,
    typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0 is any that is free.",
                 show_default="8464"),
]
ServeRunOption = Annotated[
    str | None,
    typer.Option("--run", metavar="WHAT", help="What runs: stream, schedule or both.",
                 show_default="stream where a source has a watermark, else schedule"),
]
TokenFileOption = Annotated[
    str | None,
    typer.Option("--token-file", metavar="FILE", help="A file with the token that requests must bring; else WEFT_TOKEN "
                 "of the environment.", show_default=False),
]
CertificateOption = Annotated[
    str | None, typer.Option("--certificate", metavar="FILE", help="A certificate for TLS, in PEM.", show_default=False)
]
KeyOption = Annotated[
    str | None, typer.Option("--key", metavar="FILE", help="The certificate's key, in PEM.", show_default=False)
]
QueryNameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The query's name.", show_default=False)]
SqlFileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="The file that holds its SQL.", show_default=False)
]
ReplaceOption = Annotated[
    bool, typer.Option("--replace", help="Give a query that was added before another text.")
]
