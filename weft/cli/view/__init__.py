"""How a running stream is shown: to machines, to people on a terminal, or line by line."""

from __future__ import annotations

import sys

from weft.cli.output import CommandOutput
from weft.cli.view.base import View
from weft.cli.view.json_lines import JsonLines
from weft.cli.view.live import LiveView
from weft.cli.view.plain_lines import PlainLines


def chosen_view(output: CommandOutput, as_json: bool, printed: bool) -> View:
    """The view that fits who reads; where answers are printed to stdout, figures stand beside them on stderr."""
    if as_json:
        return JsonLines(output.stdout)
    if printed:
        return PlainLines(sys.stderr)
    return LiveView(output.stdout) if output.stdout.isatty() else PlainLines(output.stdout)
