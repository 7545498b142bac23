"""Charts as SVG files that stand alone: lines on logarithmic axes and box plots, readable on light and dark pages."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # the demo's drawing is not installed with Weft

from examples.demo.svg import Scale, element, hover, text

PANEL, TALL = 430, 300  # a panel's outside width, and its plotting area's height
LEFT, RIGHT, TOP, BELOW = 58, 14, 56, 44
ROW = 17  # a line of the legend
STYLE = """
svg { --card: #ffffff; --ink: #17202b; --soft: #5a6673; --line: #b9c3ce; --grid: #e8ecf1;
  --c0: #2a6fc9; --c1: #d9730d; --c2: #1a9c6c; --c3: #8250c4; --c4: #b08c00; --c5: #d64a8a; --c6: #4b9fb8;
  --c7: #8a6d52; }
@media (prefers-color-scheme: dark) { svg { --card: #18212b; --ink: #e6ecf2; --soft: #9fadbb; --line: #4a5a6b;
  --grid: #253140; --c0: #6aa9f2; --c1: #f39a4d; --c2: #4cc795; --c3: #b48cf0; --c4: #e2c142; --c5: #f084b4;
  --c6: #78c6dd; --c7: #bd9d80; } }
text { fill: var(--soft); font: 11.5px system-ui, sans-serif; }
.title { fill: var(--ink); font-size: 15px; font-weight: 600; } .panel { fill: var(--ink); font-size: 12.5px; }
.legend { fill: var(--ink); } .card { fill: var(--card); } .grid { stroke: var(--grid); } .axis { stroke: var(--line); }
.series { fill: none; stroke-width: 1.7; stroke-linejoin: round; } .dashed { stroke-dasharray: 6 4; }
.box { fill-opacity: .35; stroke-width: 1.3; } .whisker { stroke-width: 1.3; } .median { stroke-width: 2.4; }
"""
COLOURS = 8
STYLE += "".join(f".c{i} {{ stroke: var(--c{i}); }} .d{i} {{ fill: var(--c{i}); }} " for i in range(COLOURS))


@dataclass(frozen=True)
class Line:
    """A named line in one of the colours, which also sets the shape of its points."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: int
    dashed: bool = False
    marked: bool = True


@dataclass(frozen=True)
class Box:
    """A distribution: a box between the quartiles, the median in it, whiskers to least and most, a dot at p99."""

    name: str
    least: float
    low: float
    median: float
    high: float
    p99: float
    most: float
    colour: int


@dataclass(frozen=True)
class Panel:
    """One plotting area: what it shows, its axes' words, and its lines or boxes."""

    title: str
    across: str
    up: str
    lines: Sequence[Line] = ()
    boxes: Sequence[Box] = ()


def chart(title: str, panels: Sequence[Panel], columns: int = 2) -> str:
    """A file with panels side by side, `columns` in a row."""
    rows = [panels[i : i + columns] for i in range(0, len(panels), columns)]
    parts, top = [], 34.0
    for row in rows:
        for place, panel in enumerate(row):
            parts.append(element("g", drawn(panel), transform=f"translate({place * PANEL} {top:g})"))
        top += max(height_of(panel) for panel in row)
    wide = PANEL * min(columns, len(panels))
    back = element("rect", width=wide, height=top, rx=8, class_="card")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{top:g}" viewBox="0 0 {wide} {top:g}" '
            f'role="img"><title>{title}</title><style>{STYLE}</style>'
            f'{back}{text(title, 14, 24, "title")}{"".join(parts)}</svg>\n')


def height_of(panel: Panel) -> float:
    """How tall a panel is with its legend."""
    return TOP + TALL + BELOW + ROW * math.ceil(len(panel.lines) / 2) + 12


def drawn(panel: Panel) -> str:
    """A panel as SVG."""
    values = [y for line in panel.lines for _, y in line.points] or [v for b in panel.boxes for v in (b.least, b.most)]
    up = log_scale(values, TOP + TALL, TOP)
    return frame(panel, up) + (line_area(panel, up) if panel.lines else box_area(panel, up))


def log_scale(values: Sequence[float], start: float, stop: float) -> Scale:
    """A logarithmic axis around positive values, from and to a 1, 2 or 5 times a power of ten."""
    low, high = min(values), max(values)
    marks = list(round_values(low / 10, high * 10))
    below, above = max(m for m in marks if m <= low * 1.001), min(m for m in marks if m >= high * 0.999)
    return Scale(math.log10(below), math.log10(above if above > below else below * 2), start, stop)


def round_values(low: float, high: float) -> list[float]:
    """All 1, 2 and 5 times powers of ten from low to high."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [m * 10.0**p for p in powers for m in (1, 2, 5) if low * 0.999 <= m * 10.0**p <= high * 1.001]


def ticks(scale: Scale) -> list[float]:
    """The values to write at an axis: powers of ten, and 2 and 5 times them where there is room."""
    every = round_values(10**scale.low, 10**scale.high)
    return every if len(every) <= 9 else [v for v in every if math.log10(v) % 1 < 1e-6 or math.log10(v) % 1 > 1 - 1e-6]


def frame(panel: Panel, up: Scale) -> str:
    """Titles, grid lines and the words of the axes."""
    parts = [text(panel.title, LEFT, TOP - 28, "panel"), text(panel.up, LEFT, TOP - 10)]
    for value in ticks(up):
        y = up(math.log10(value))
        parts.append(element("line", x1=LEFT, x2=PANEL - RIGHT, y1=y, y2=y, class_="grid"))
        parts.append(text(brief(value), LEFT - 6, y + 3.5, anchor="end"))
    base = TOP + TALL
    parts.append(element("line", x1=LEFT, x2=PANEL - RIGHT, y1=base, y2=base, class_="axis"))
    parts.append(text(panel.across, (LEFT + PANEL - RIGHT) / 2, base + 34, anchor="middle"))
    return "".join(parts)


def brief(value: float) -> str:
    """A number in few characters: 1M, 0.02; powers of two as 16Ki, 1Mi."""
    if value >= 1024 and math.log2(value).is_integer():
        return f"{value / 1024:g}Ki" if value < 1 << 20 else f"{value / (1 << 20):g}Mi"
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size * 0.9995:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def line_area(panel: Panel, up: Scale) -> str:
    """The lines, the places below the axis where they have points, and the legend."""
    places = sorted({x for line in panel.lines for x, _ in line.points})
    across = Scale(math.log10(places[0]), math.log10(places[-1]), LEFT + 10, PANEL - RIGHT - 10)
    parts = [text(brief(x), across(math.log10(x)), TOP + TALL + 16, anchor="middle") for x in spaced(places, across)]
    parts += [line_of(line, across, up) for line in panel.lines]
    return "".join(parts) + legend(panel)


def spaced(places: Sequence[float], across: Scale, apart: float = 30) -> list[float]:
    """The places whose labels do not touch."""
    chosen: list[float] = []
    for place in places:
        if not chosen or across(math.log10(place)) - across(math.log10(chosen[-1])) >= apart:
            chosen.append(place)
    return chosen


def line_of(line: Line, across: Scale, up: Scale) -> str:
    """One line and its points."""
    spots = [(across(math.log10(x)), up(math.log10(y))) for x, y in line.points]
    look = f"series c{line.colour}{' dashed' if line.dashed else ''}"
    path = element("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in spots), class_=look)
    words = [f"{line.name} at {brief(x)}: {y:.3g}" for x, y in line.points]
    marks = (point(line.colour, *spot, say) for spot, say in zip(spots, words, strict=True))
    return path + ("".join(marks) if line.marked else "")


def point(colour: int, x: float, y: float, words: str = "") -> str:
    """A mark whose shape goes with its colour, for those who see few colours."""
    inside, look = hover(words) if words else "", f"d{colour}"
    match colour % 4:
        case 0:
            return element("circle", inside, cx=x, cy=y, r=3.4, class_=look)
        case 1:
            return element("rect", inside, x=x - 3, y=y - 3, width=6.0, height=6.0, class_=look)
        case 2:
            return element("path", inside, d=f"M{x:.1f} {y - 4:.1f}l4 7h-8z", class_=look)
    return element("path", inside, d=f"M{x:.1f} {y - 4.4:.1f}l4.4 4.4-4.4 4.4-4.4-4.4z", class_=look)


def legend(panel: Panel) -> str:
    """Names in two columns, the line that ends highest first."""
    ordered = sorted(panel.lines, key=lambda line: -line.points[-1][1])
    half, parts = math.ceil(len(ordered) / 2), []
    for i, line in enumerate(ordered):
        x, y = LEFT + (i // half) * 180, TOP + TALL + BELOW + 12 + ROW * (i % half)
        look = f"series c{line.colour}{' dashed' if line.dashed else ''}"
        parts.append(element("line", x1=x, x2=x + 20, y1=y - 4, y2=y - 4, class_=look))
        parts.append(point(line.colour, x + 10, y - 4) if line.marked else "")
        parts.append(text(line.name, x + 26, y, "legend"))
    return "".join(parts)


def box_area(panel: Panel, up: Scale) -> str:
    """The boxes side by side with their names below, at two heights if they are many."""
    step = (PANEL - LEFT - RIGHT) / len(panel.boxes)
    parts = []
    for i, box in enumerate(panel.boxes):
        x = LEFT + step * (i + 0.5)
        drop = 15 + (13 if i % 2 and len(panel.boxes) > 4 else 0)
        parts.append(box_of(box, x, min(step * 0.5, 28), lambda v: up(math.log10(v))))
        parts.append(text(box.name, x, TOP + TALL + drop, "legend", "middle"))
    return "".join(parts)


def box_of(box: Box, x: float, wide: float, up: Callable[[float], float]) -> str:
    """One box with its whiskers."""
    line, fill = f"whisker c{box.colour}", f"box c{box.colour} d{box.colour}"
    parts = [element("line", x1=x, x2=x, y1=up(a), y2=up(b), class_=line)
             for a, b in pairwise((box.least, box.low)) if a < b]
    parts += [element("line", x1=x, x2=x, y1=up(box.high), y2=up(box.most), class_=line)] if box.most > box.high else []
    parts += [element("line", x1=x - wide / 3, x2=x + wide / 3, y1=up(v), y2=up(v), class_=line)
              for v in (box.least, box.most)]
    tall = max(up(box.low) - up(box.high), 2.0)
    parts.append(element("rect", x=x - wide / 2, y=up(box.high), width=wide, height=tall, class_=fill))
    parts.append(element("line", x1=x - wide / 2, x2=x + wide / 2, y1=up(box.median), y2=up(box.median),
                         class_=f"median c{box.colour}"))
    parts.append(element("circle", cx=x, cy=up(box.p99), r=2.6, class_=f"d{box.colour}"))
    words = f"{box.name}: least {box.least:.3g}, median {box.median:.3g}, p99 {box.p99:.3g}, most {box.most:.3g}"
    return element("g", hover(words) + "".join(parts))
