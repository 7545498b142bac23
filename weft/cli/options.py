"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
SinkOption = Annotated[
    str | None,
    typer.Option("--sink", metavar="SINK", help="Write there instead: noop, FORMAT, FORMAT:PATH or PATH."),
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
FolderArgument = Annotated[
    Path, typer.Argument(metavar="[DIR]", help="The new project's folder.", file_okay=False, show_default=False)
]
ZipArgument = Annotated[Path, typer.Argument(metavar="PATH", help="The zip to write.", dir_okay=False)]
