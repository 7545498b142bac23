"""What a slicer is: a card, where it cuts time, and how many slices a window is then folded from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from weft.model.edges import Progression
from weft.model.window import Window


@dataclass(frozen=True)
class Slicer:
    """One way to cut a stream; every window begins at a cut, and ends at one unless the slicer reads open slices.

    `edges(windows)` gives the cuts as progressions `(phase, period)`, none for no windows, and `each(window)` those of
    one window. The cuts of several are the cuts of each, unless there is a `join` that makes other ones of them.
    `uneven(window)` is the slicer's count where the slide does not divide the range. With `reads_open`, a window that
    ends inside a slice reads what the slice holds up to there: a runner must keep that prefix, or use another slicer.
    """

    name: str
    title: str
    paper: str
    description: str
    edges: Callable[[Iterable[Window]], tuple[Progression, ...]]
    each: Callable[[Window], tuple[Progression, ...]]
    uneven: Callable[[Window], int]
    reads_open: bool = False
    join: Callable[[Iterable[Progression]], tuple[Progression, ...]] | None = None

    def slices_per_window(self, window: Window) -> int:
        """How many slices a window is folded from when time is cut for it alone (001 Table 1)."""
        whole, rest = divmod(window.range, window.slide)
        return self.uneven(window) if rest else whole


def slice_start(time: str, progressions: Sequence[Progression]) -> str:
    """Spark SQL for the start of the slice that holds `time`, in microseconds: the latest cut that is not after it."""
    latest = [f"{time} - pmod({time} - {phase}L, {period}L)" for phase, period in progressions]
    return latest[0] if len(latest) == 1 else f"greatest({', '.join(latest)})"


def slice_end(time: str, progressions: Sequence[Progression]) -> str:
    """Spark SQL for the end of the slice that holds `time`: the first cut after it."""
    next_cut = [f"{time} - pmod({time} - {phase}L, {period}L) + {period}L" for phase, period in progressions]
    return next_cut[0] if len(next_cut) == 1 else f"least({', '.join(next_cut)})"
