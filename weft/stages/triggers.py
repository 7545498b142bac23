"""How short the trigger of a scan can be as a stream, and which bounds of its queries that keeps, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, isfinite

from weft.cost.shedding.triggers import TriggerLoad
from weft.model.window import duration

SECOND = 1_000_000
NAMED = 4


@dataclass(frozen=True)
class ScanTrigger:
    """A scan with the bounds of its queries, in µs, and what its triggers take, `measured` by an earlier stream or
    estimated by Weft's model."""

    scan: str
    bounds: Mapping[str, int]
    load: TriggerLoad
    measured: bool

    @property
    def kept(self) -> list[str]:
        """The queries whose bounds the shortest sustainable trigger keeps."""
        return [name for name, bound in self.bounds.items() if self.load.shortest * SECOND <= bound]

    @property
    def missed(self) -> list[str]:
        """The queries whose bounds no sustainable trigger keeps."""
        return [name for name in self.bounds if name not in self.kept]

    @property
    def chosen(self) -> str:
        """The trigger that the bounds ask for: the shortest of them, or the shortest sustainable one."""
        shortest = self.load.shortest if isfinite(self.load.shortest) else 0.0  # none is: as good as it can
        return f"{max(min(self.bounds.values()) // 1000, ceil(shortest * 1000))} milliseconds"

    def to_dict(self) -> dict:
        """Plain values, lengths in seconds; None where no trigger is long enough."""
        return {"scan": self.scan, "shortest": round(self.load.shortest, 3) if isfinite(self.load.shortest) else None,
                "fixed": round(self.load.fixed, 3), "rows": round(self.load.rows, 4), "measured": self.measured,
                "keeps": self.kept, "misses": self.missed}

    def __str__(self) -> str:
        by = "measured by its last stream" if self.measured else "estimated, for no stream of it has ended yet"
        if not isfinite(self.load.shortest):
            return (f"{self.scan}: no trigger is long enough, for rows alone take {self.load.rows:.0%} of the time "
                    f"({by})")
        return (f"{self.scan}: the shortest sustainable trigger is {self.load.shortest:.2g} s = "
                f"{self.load.fixed:.2g} s / (1 − {self.load.rows:.2g}), {by}: {self.verdict()}")

    def verdict(self) -> str:
        """Whose bounds it keeps and whose it misses."""
        parts = [(word, [f"{name} (every {duration(self.bounds[name])})" for name in names])
                 for word, names in (("keeps", self.kept), ("misses", self.missed)) if names]
        return "; ".join(f"{word} {', '.join(names[:NAMED])}"
                         + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "") for word, names in parts)
