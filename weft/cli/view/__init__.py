"""How a running stream is shown: to machines, to people on a terminal, or line by line."""

from __future__ import annotations

from weft.cli.output import Output
from weft.cli.view.base import View
from weft.cli.view.json_lines import JsonLines
from weft.cli.view.live import LiveView
from weft.cli.view.plain_lines import PlainLines


def chosen_view(output: Output, as_json: bool, shares: bool) -> View:
    """The view that fits who reads: a terminal is drawn upon unless the sink `shares` it."""
    if as_json:
        return JsonLines(output.stdout)
    return LiveView(output.stdout) if output.stdout.isatty() and not shares else PlainLines(output.stdout)
