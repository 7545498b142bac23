"""The view for logs: a line for every trigger that did something."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TextIO

from weft.cli.tables import counted
from weft.cli.view.base import Read, clock, length, size, speed, summary
from weft.spark.stream.progress import ScanMetrics, TriggerMetrics


@dataclass(frozen=True)
class PlainLines:
    """Writes a line a trigger."""

    stdout: TextIO

    def open(self, read: Read) -> AbstractContextManager[None]:
        """There is nothing to draw."""
        return nullcontext()

    def tell(self, figures: TriggerMetrics) -> None:
        """Writes the line of a trigger, unless nothing came in and nothing went out."""
        if figures.rows or figures.answers or figures.late or figures.dead:
            print(line(figures), file=self.stdout, flush=True)

    def end(self, readings: Sequence[ScanMetrics]) -> None:
        """Writes the totals."""
        print(summary(readings), file=self.stdout, flush=True)


def line(figures: TriggerMetrics) -> str:
    """The figures of a trigger as a line."""
    parts = [f"{counted(figures.rows, 'row')} ({speed(figures.rows_per_second)}/s)",
             counted(sum(figures.answers.values()), "answer")]
    if figures.watermark:
        parts.append(f"watermark {clock(figures.watermark)}, {length(figures.lag_seconds)} behind")
    parts += [f"{counted(figures.late, 'late row')} dropped"] if figures.late else []
    parts += [counted(figures.dead, "dead letter")] if figures.dead else []
    least = "at least " if figures.join_rows_at_least else ""
    parts += [f"joins hold {least}{counted(figures.join_rows, 'row')}"] if figures.watermarks else []
    if figures.slowest:
        parts.append(f"{figures.slowest} holds them back at {clock(figures.watermarks[figures.slowest])}")
    parts += [f"{counted(figures.shed, 'row')} shed"] if figures.shed else []
    parts += [f"state {size(figures.state_bytes)}", f"{figures.trigger_seconds:.2f} s"]
    batch = "" if figures.batch is None else f" batch {figures.batch}"
    return f"{clock(figures.at)} {figures.scan}{batch}: {', '.join(parts)}"
