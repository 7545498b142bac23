"""`python -m examples.demo`: many queries over made-up trades on few shared scans, Parquet a query, one report."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from examples.demo.report import write_report
from examples.demo.run import run
from examples.demo.summary import show
from weft.cli.sample_trades import Trades
from weft.errors import WeftError


def main() -> int:
    """Runs the demo; 0 if all went well, 1 with one line if not."""
    options = arguments()
    console = Console(width=None if sys.stdout.isatty() else 120)
    try:
        trades = Trades(rows=options.rows, keys=options.keys)
        with bar(console) as progress:
            task = progress.add_task("queries", total=None)

            def report(done: int, total: int, words: str) -> None:
                progress.update(task, completed=done, total=total, description=words)

            outcome = run(trades, options.out, report, console.log)
        show(outcome, console)
        page = write_report(outcome, options.out / "report.html")
    except (WeftError, OSError, ValueError) as error:
        console.print(f"[red]{error}[/red]", highlight=False)
        return 1
    console.print(f"answers: {options.out / 'answers'}/<query>/*.parquet\nreport:  {page}", highlight=False)
    return 0


def bar(console: Console) -> Progress:
    """A progress bar that goes when it is done."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description=(__doc__ or "").split(": ", 1)[-1])
    parser.add_argument("--rows", type=int, default=Trades.rows, help="trades to make (default: %(default)s)")
    parser.add_argument("--keys", type=int, default=Trades.keys, help="symbols to trade (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("demo-out"), help="folder to write to (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
