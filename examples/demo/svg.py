"""The pieces a chart is drawn with: elements, scales, ticks, axes, legends, hover strips. Texts in, SVG text out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

WIDTH, HEIGHT = 620, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 20, 30, 28


def element(name: str, inside: str = "", **attributes: object) -> str:
    """One SVG element; `class_` stands for class, and underscores for dashes."""
    texts = (f' {key.rstrip("_").replace("_", "-")}="{escape(number(value))}"' for key, value in attributes.items())
    return f"<{name}{''.join(texts)}>{inside}</{name}>" if inside else f"<{name}{''.join(texts)}/>"


def number(value: object) -> str:
    """A value as attribute text: floats in tenths of a pixel."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def text(words: str, x: float, y: float, class_: str = "label", anchor: str = "start") -> str:
    """A line of text."""
    return element("text", escape(words), x=float(x), y=float(y), class_=class_, text_anchor=anchor)


def hover(words: str) -> str:
    """What a browser shows when the pointer rests on the element around it."""
    return f"<title>{escape(words)}</title>"


def svg(inside: str, height: float, title: str) -> str:
    """A picture as wide as all the others; its title is for those who listen to the page."""
    return element("svg", inside, viewBox=f"0 0 {WIDTH} {height}", class_="chart", role="img", aria_label=title)


@dataclass(frozen=True)
class Scale:
    """A line from values to pixels."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        span = self.high - self.low
        return self.start + (self.stop - self.start) * ((value - self.low) / span if span else 0.5)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round values from low to high, about so many: steps of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((m * power for m in (1, 2, 5) if m * power >= rough), 10 * power)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [multiple * step for multiple in range(first, last + 1)]


def time_ticks(low: float, high: float, about: int = 8) -> list[float]:
    """Round moments between two times in seconds."""
    steps = (60, 300, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
    step = next((step for step in steps if (high - low) / step <= about), max(86400, (high - low) / about))
    return [multiple * step for multiple in range(math.ceil(low / step), math.floor(high / step) + 1)]


def clock(seconds: float) -> str:
    """A moment as hour and minute, UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M")


def short(value: float) -> str:
    """A number in few characters: 1.2 M, 35 k, 0.04."""
    for size, unit in ((1e9, " bn"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.4g}"


@dataclass(frozen=True)
class Frame:
    """A chart's plotting area: its scales and everything drawn around the data."""

    x: Scale
    y: Scale
    title: str
    unit: str = ""

    @staticmethod
    def around(xs: Sequence[float], ys: Sequence[float], title: str, unit: str = "", zero: bool = False,
               margin: float = 0.0) -> Frame:
        """The frame that holds all points, with some air above and below or standing on zero, and a side margin."""
        low, high = (min(ys), max(ys)) if ys else (0.0, 1.0)
        air = 0.04 * (high - low) or abs(high) * 0.01 or 1.0
        low, high = (0.0 if zero else low - air), high + air
        across = Scale(min(xs, default=0.0), max(xs, default=1.0), LEFT + margin, WIDTH - RIGHT - margin)
        return Frame(across, Scale(low, high, HEIGHT - BOTTOM, TOP), title, unit)

    def axes(self, label: Callable[[float], str] = short) -> str:
        """Grid lines with their values, and the hours below."""
        parts = []
        for value in ticks(self.y.low, self.y.high):
            height = self.y(value)
            parts.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=height, y2=height, class_="grid"))
            parts.append(text(label(value), LEFT - 6, height + 3.5, anchor="end"))
        for value in time_ticks(self.x.low, self.x.high):
            parts.append(text(clock(value), self.x(value), HEIGHT - BOTTOM + 16, anchor="middle"))
        base = HEIGHT - BOTTOM
        return "".join(parts) + element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=base, y2=base, class_="axis")

    def legend(self, entries: Sequence[tuple[str, str]]) -> str:
        """Names beside the looks of their lines or areas, on the line above the data."""
        parts, x = [], float(LEFT)
        for name, look in entries:
            if look.startswith("line"):
                parts.append(element("line", x1=x, x2=x + 14, y1=14, y2=14, class_=look))
            else:
                parts.append(element("rect", x=x + 3, y=9, width=11, height=10, rx=2, class_=look))
            parts.append(text(name, x + 18, 18, "legend"))
            x += 30 + 6.4 * len(name)
        return "".join(parts)

    def strips(self, moments: Sequence[float], words: Callable[[int], str]) -> str:
        """Unseen columns, one a moment, that show the values there when the pointer rests on them."""
        half = (self.x(moments[1]) - self.x(moments[0])) / 2 if len(moments) > 1 else 4.0
        return "".join(
            element("rect", hover(words(place)), x=self.x(moment) - half, y=TOP, width=max(2 * half, 1.0),
                    height=HEIGHT - BOTTOM - TOP, class_="strip")
            for place, moment in enumerate(moments)
        )

    def picture(self, *parts: str) -> str:
        """The whole chart."""
        return svg("".join(parts), HEIGHT, self.title)
