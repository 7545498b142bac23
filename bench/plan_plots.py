"""Charts whose axes are linear or logarithmic, in the look of the other charts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from plots import (
    LEFT,
    PANEL,
    RIGHT,
    STYLE,
    TALL,
    TOP,
    Line,
    Panel,
    brief,
    height_of,
    legend,
    point,
    round_values,
)

from examples.demo.svg import Scale, element, text

__all__ = ["Area", "Line", "picture"]
MOST_TICKS = 9


@dataclass(frozen=True)
class Area(Panel):
    """A panel that says which of its axes are logarithmic."""

    log_across: bool = True
    log_up: bool = True


@dataclass(frozen=True)
class Axis:
    """From values to places on the page, with the values worth a label."""

    scale: Scale
    log: bool
    ticks: Sequence[float]

    def __call__(self, value: float) -> float:
        return self.scale(math.log10(value) if self.log else value)


def axis(values: Iterable[float], log: bool, start: float, stop: float) -> Axis:
    """An axis from one round value to another around all values."""
    listed = list(values)
    return (log_axis if log else linear_axis)(min(listed), max(listed), start, stop)


def log_axis(low: float, high: float, start: float, stop: float) -> Axis:
    """From and to 1, 2 or 5 times a power of ten; labels at powers of ten only where there would be too many."""
    marks = round_values(low / 10, high * 10)
    below, above = max(m for m in marks if m <= low * 1.001), min(m for m in marks if m >= high * 0.999)
    above = above if above > below else below * 2
    found = round_values(below, above)
    powers = [v for v in found if abs(math.log10(v) - round(math.log10(v))) < 1e-6]
    return Axis(Scale(math.log10(below), math.log10(above), start, stop), True,
                found if len(found) <= MOST_TICKS else powers)


def linear_axis(low: float, high: float, start: float, stop: float) -> Axis:
    """From zero, or below, in round steps."""
    low, high = min(low, 0.0), max(high, 0.0) or 1.0
    step = min(s for s in round_values((high - low) / 100, high - low) if (high - low) / s <= MOST_TICKS - 1)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Axis(Scale(first * step, last * step, start, stop), False, [i * step for i in range(first, last + 1)])


def picture(title: str, areas: Sequence[Area], columns: int = 2) -> str:
    """A file with areas side by side, `columns` in a row."""
    parts, top = [], 34.0
    for begin in range(0, len(areas), columns):
        row = areas[begin : begin + columns]
        parts += [element("g", drawn(area), transform=f"translate({i * PANEL} {top:g})") for i, area in enumerate(row)]
        top += max(height_of(area) for area in row)
    wide = PANEL * min(columns, len(areas))
    back = element("rect", width=wide, height=top, rx=8, class_="card")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{top:g}" viewBox="0 0 {wide} {top:g}" '
            f'role="img"><title>{title}</title><style>{STYLE}</style>'
            f'{back}{text(title, 14, 24, "title")}{"".join(parts)}</svg>\n')


def drawn(area: Area) -> str:
    """An area as SVG."""
    spots = [spot for line in area.lines for spot in line.points]
    across = axis([x for x, _ in spots], area.log_across, LEFT + 10, PANEL - RIGHT - 10)
    up = axis([y for _, y in spots], area.log_up, TOP + TALL, TOP)
    return frame(area, across, up) + "".join(line_of(line, across, up) for line in area.lines) + legend(area)


def frame(area: Area, across: Axis, up: Axis) -> str:
    """Titles, grid lines and the words of the axes."""
    parts = [text(area.title, LEFT, TOP - 28, "panel"), text(area.up, LEFT, TOP - 10)]
    for value in up.ticks:
        parts.append(element("line", x1=LEFT, x2=PANEL - RIGHT, y1=up(value), y2=up(value), class_="grid"))
        parts.append(text(brief(value), LEFT - 6, up(value) + 3.5, anchor="end"))
    base = TOP + TALL
    parts += [text(brief(v), across(v), base + 16, anchor="middle") for v in across.ticks]
    parts.append(element("line", x1=LEFT, x2=PANEL - RIGHT, y1=base, y2=base, class_="axis"))
    return "".join(parts) + text(area.across, (LEFT + PANEL - RIGHT) / 2, base + 34, anchor="middle")


def line_of(line: Line, across: Axis, up: Axis) -> str:
    """One line and its points."""
    spots = [(across(x), up(y)) for x, y in line.points]
    look = f"series c{line.colour}{' dashed' if line.dashed else ''}"
    path = element("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in spots), class_=look)
    if not line.marked:
        return path
    words = [f"{line.name} at {brief(x)}: {y:.3g}" for x, y in line.points]
    return path + "".join(point(line.colour, *spot, say) for spot, say in zip(spots, words, strict=True))


