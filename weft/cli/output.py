"""What a command says: answers to stdout, errors and progress to stderr, JSON for machines, and the exit code."""

from __future__ import annotations

import json
import logging
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import Any, TextIO

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text
from typer.exceptions import TyperException

from weft.cli.faults import Fault, faults_of
from weft.errors import WeftError

AT_FAULT, INTERNAL, INTERRUPTED = 1, 3, 130
# A file or a pipe has no width, and a table that is cut to 80 columns there loses words.
WIDE = 200
COLUMNS = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
Report = Callable[[int, int, str], None]


@dataclass(frozen=True)
class CommandOutput:
    """Where one command writes, and in which form."""

    stdout: TextIO
    as_json: bool = False

    def show(self, data: Mapping[str, Any], *people: RenderableType) -> None:
        """Writes the answer: `data` for machines, or the rest for people."""
        if self.as_json:
            print(json.dumps(data, indent=2, default=str), file=self.stdout)
            return
        for item in people:
            console(self.stdout).print(item, soft_wrap=isinstance(item, str | Text))

    def fail(self, faults: tuple[Fault, ...], code: int) -> typer.Exit:
        """Says what is wrong, a line each, and gives the exit to raise."""
        if self.as_json:
            self.show({"ok": False, "errors": [fault.to_dict() for fault in faults]})
        for fault in faults:
            console(sys.stderr).print(Text(str(fault), style="red"), soft_wrap=True)
        return typer.Exit(code)

    @contextmanager
    def progress(self, text: str) -> Iterator[Report]:
        """A function to report progress to; people on a terminal see a bar."""
        with Progress(*COLUMNS, console=console(sys.stderr), transient=True, disable=not sys.stderr.isatty()) as bar:
            task = bar.add_task(text, total=None)
            yield lambda done, total, now: bar.update(task, completed=done, total=total, description=now or text)


@contextmanager
def reporting(as_json: bool, debug: bool) -> Iterator[CommandOutput]:
    """The output of a command; every error of its body ends as one line and an exit code."""
    output = CommandOutput(sys.stdout, as_json)
    try:
        # Whatever else prints goes to stderr: stdout holds the answer and nothing but the answer.
        level = logging.WARNING if debug else logging.CRITICAL
        with redirect_stdout(sys.stderr), logging_level(level), plain_warnings():
            yield output
    except (typer.Exit, typer.Abort, TyperException):
        raise
    except KeyboardInterrupt:
        raise output.fail((Fault("interrupted", kind="Interrupted"),), INTERRUPTED) from None
    except Exception as error:
        if debug:
            traceback.print_exc(file=sys.stderr)
        raise output.fail(explain(error, debug), code_of(error)) from None


@contextmanager
def logging_level(level: int) -> Iterator[None]:
    """Libraries log from this level on: what they log on the way to an exception, the exception says."""
    root = logging.getLogger()
    before = root.level
    root.setLevel(level)
    try:
        yield
    finally:
        root.setLevel(before)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Weft's own warnings are one line on stderr, without the place in its code."""
    before = warnings.formatwarning

    def one_line(message: Warning | str, category: type[Warning], filename: str, lineno: int,
                 line: str | None = None) -> str:
        own = category.__module__.startswith("weft.")
        return f"{message}\n" if own else before(message, category, filename, lineno, line)

    warnings.formatwarning = one_line
    try:
        yield
    finally:
        warnings.formatwarning = before


def code_of(error: Exception) -> int:
    """1 where the user's files or data are at fault, 3 where Spark or Weft is."""
    return AT_FAULT if isinstance(error, WeftError) or is_of_data(error) else INTERNAL


def is_of_data(error: Exception) -> bool:
    """Whether Spark blames the data: SQLSTATE class 22 (an overflow, say) or KD (a file that cannot be read)."""
    state = error.getSqlState() if hasattr(error, "getSqlState") else None
    return str(state).startswith(("22", "KD"))


def explain(error: Exception, debug: bool) -> tuple[Fault, ...]:
    """The faults to print for an error."""
    if isinstance(error, WeftError):
        return faults_of(error)
    if is_of_data(error):
        return (Fault(f"the data cannot be computed: {telling_line(str(error))}", kind="DataError"),)
    hint = "" if debug else "Run again with --debug to see where."
    return (Fault(f"{type(error).__name__}: {telling_line(str(error))}", hint=hint, kind="Internal"),)


def telling_line(text: str) -> str:
    """The line of an error's text that says most: the end of a traceback, the last of Java's causes, or the first."""
    lines = text.strip().splitlines() or ["no message"]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return lines[-1] if any(line.startswith("Traceback (") for line in lines) else (causes or lines[:1])[-1]


def console(file: TextIO) -> Console:
    """A console on that stream that changes no word of what it prints."""
    return Console(file=file, width=None if file.isatty() else WIDE, highlight=False, markup=False, emoji=False)
