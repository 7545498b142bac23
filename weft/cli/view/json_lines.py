"""The view for machines: one JSON object a trigger and scan on a line of its own, and nothing else on stdout."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TextIO

from weft.cli.view.base import Read, summary
from weft.spark.stream.progress import ScanMetrics, TriggerMetrics


@dataclass(frozen=True)
class JsonLines:
    """Writes figures as JSON; the totals are their sums, so they are told on stderr only."""

    stdout: TextIO

    def open(self, read: Read) -> AbstractContextManager[None]:
        """There is nothing to draw."""
        return nullcontext()

    def tell(self, figures: TriggerMetrics) -> None:
        """Writes the object of a trigger at once."""
        print(json.dumps(figures.to_dict(), ensure_ascii=False, allow_nan=False), file=self.stdout, flush=True)

    def end(self, readings: Sequence[ScanMetrics]) -> None:
        """Tells the totals."""
        print(summary(readings), file=sys.stderr)
