"""What is dropped of a source, as a value; and drop boxes under the names that say all of them."""

from __future__ import annotations

from dataclasses import dataclass

from weft.io.drop_boxes import DropBox
from weft.loom.context import Context
from weft.optimize.shed.reasons import percent

# A share that is greater saves nothing.
MOST = 0.95


@dataclass(frozen=True)
class SourceShedding:
    """What is dropped of a source: the share that is kept, for which queries, and a sentence that says why; of a join
    also the share that is kept of each input that stands behind a drop box."""

    source: str
    share: float
    queries: tuple[str, ...]
    reason: str
    boxes: tuple[tuple[str, float], ...] = ()

    def to_dict(self) -> dict:
        """As plain values."""
        boxes = {"boxes": dict(self.boxes)} if self.boxes else {}
        return {"source": self.source, "share": self.share, "queries": list(self.queries), "reason": self.reason,
                **boxes}

    def __str__(self) -> str:
        return f"{self.source} keeps {percent(self.share)} of its rows: {self.reason}"


def put_once(context: Context, name: str, box: DropBox, behind: str) -> None:
    """A drop box under its name, which says all there is to know of it, over the rows that are there now."""
    if name in context.sources:
        context.sources.renew_box(name)
    else:
        context.sources.put_box(name, box, behind)
