"""What a change of a running stream's queries does: to Spark's queries, to its state, and from when on it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

FREE, SWAP, RESTART = "free", "swap", "restart"


@dataclass(frozen=True)
class LiveChange:
    """A change that was made, or would be.

    `kind` is "restart" where a query of Spark's restarts, "swap" where one goes on under another plan, and "free" where
    none is touched. `queries` are the names that run afterwards.
    `complete_from` has, for each query that comes, the first start of a window that is whole; None: from its first
    window on. `kept`, `added` and `freed` are ids of the plan's nodes and columns. `reason` says why it is done so, and
    `drift` by how much the plan costs more than one of as many queries was expected to (000 Eq. 6), if that is known.
    """

    kind: str
    queries: tuple[str, ...]
    complete_from: Mapping[str, datetime | None]
    kept: tuple[str, ...]
    added: tuple[str, ...]
    freed: tuple[str, ...]
    reason: str
    drift: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        whole = {name: at.isoformat() if at else None for name, at in self.complete_from.items()}
        return {**vars(self), "complete_from": whole, **{name: list(getattr(self, name))
                                                        for name in ("queries", "kept", "added", "freed")}}

    def __str__(self) -> str:
        when = [f"{name} from {at.isoformat()}" for name, at in self.complete_from.items() if at]
        whole = f" Whole windows: {', '.join(when)}." if when else ""
        nodes = f"{len(self.kept)} nodes and columns kept, {len(self.added)} added, {len(self.freed)} freed"
        more = "less" if (self.drift or 0) < 0 else "more"
        drift = "" if self.drift is None else f" The plan costs {abs(self.drift):.0%} {more} than was expected."
        return f"{self.kind}: {self.reason}{whole} {nodes}.{drift}"
