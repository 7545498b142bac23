"""Charts as SVG text from plain lists: lines, a band, candles, stacked bars, bars side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from examples.demo.svg import LEFT, RIGHT, WIDTH, Frame, clock, element, hover, short, svg, text

MOST_STRIPS = 150  # hover columns a chart has at most: finer ones are too narrow to rest on


@dataclass(frozen=True)
class Series:
    """A named line: moments in seconds and a value for each."""

    name: str
    times: Sequence[float]
    values: Sequence[float]


@dataclass(frozen=True)
class Candle:
    """Open, high, low and close of one stretch of time that ends at `at`."""

    at: float
    open: float
    high: float
    low: float
    close: float


def line_chart(title: str, series: Sequence[Series], unit: str = "", digits: int = 2) -> str:
    """Several lines over time; resting on a moment shows every line's value there."""
    frame = Frame.around(
        [moment for each in series for moment in each.times],
        [value for each in series for value in each.values], title, unit,
    )
    lines = [path(frame, each, f"line c{place}") for place, each in enumerate(series)]
    return frame.picture(frame.axes(), *lines, frame.legend(looks("line", series)), line_hovers(frame, series, digits))


def looks(kind: str, series: Sequence[Series]) -> list[tuple[str, str]]:
    """Each series' name and the classes that colour it."""
    return [(each.name, f"{kind} c{place}") for place, each in enumerate(series)]


def band_chart(title: str, name: str, band: tuple[Series, Series], series: Sequence[Series], unit: str = "") -> str:
    """Lines over a shaded band between two more."""
    every = [*series, *band]
    frame = Frame.around(
        [moment for each in every for moment in each.times],
        [value for each in every for value in each.values], title, unit,
    )
    low, high = band
    there = [f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in zip(low.times, low.values, strict=True)]
    back = [f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in zip(high.times, high.values, strict=True)][::-1]
    shade = element("polygon", points=" ".join(there + back), class_="band") if there else ""
    lines = [path(frame, each, f"line c{place}") for place, each in enumerate(series)]
    return frame.picture(frame.axes(), shade, *lines, frame.legend([*looks("line", series), (name, "band")]),
                         line_hovers(frame, every, 2))


def path(frame: Frame, series: Series, class_: str) -> str:
    """One line through all points."""
    points = " ".join(
        f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in zip(series.times, series.values, strict=True)
    )
    return element("polyline", points=points, class_=class_) if points else ""


def line_hovers(frame: Frame, series: Sequence[Series], digits: int) -> str:
    """Hover columns at the moments of the longest line."""
    known = [dict(zip(each.times, each.values, strict=True)) for each in series]
    moments = sorted({moment for each in known for moment in each})
    moments = moments[:: -(-len(moments) // MOST_STRIPS) or 1]

    def words(place: int) -> str:
        here = [f"{each.name}: {values[moments[place]]:,.{digits}f}{frame.unit}"
                for each, values in zip(series, known, strict=True) if moments[place] in values]
        return "\n".join([clock(moments[place]), *here])

    return frame.strips(moments, words)


def candle_chart(title: str, candles: Sequence[Candle]) -> str:
    """Japanese candles: hollow where the price rose, filled where it fell."""
    wide = 0.64 * (WIDTH - LEFT - RIGHT) / max(len(candles), 1)
    edges = [value for each in candles for value in (each.low, each.high)]
    frame = Frame.around([each.at for each in candles], edges, title, margin=wide)
    return frame.picture(frame.axes(), *(candle(frame, each, wide) for each in candles))


def candle(frame: Frame, one: Candle, wide: float) -> str:
    """One candle with its wick and its words."""
    x, rose = frame.x(one.at), one.close >= one.open
    top, bottom = frame.y(max(one.open, one.close)), frame.y(min(one.open, one.close))
    words = (f"to {clock(one.at)}\nopen {one.open:,.2f}\nhigh {one.high:,.2f}\n"
             f"low {one.low:,.2f}\nclose {one.close:,.2f}")
    wick = element("line", x1=x, x2=x, y1=frame.y(one.high), y2=frame.y(one.low))
    body = element("rect", x=x - wide / 2, y=top, width=wide, height=max(bottom - top, 1.0))
    return element("g", hover(words) + wick + body, class_="rose" if rose else "fell")


def stacked_bars(title: str, times: Sequence[float], layers: Sequence[Series]) -> str:
    """Bars over time, one colour a layer, from the first layer at the bottom up."""
    heights = [[each.values[place] for each in layers] for place in range(len(times))]
    wide = 0.78 * (WIDTH - LEFT - RIGHT) / max(len(times), 1)
    frame = Frame.around(times, [sum(each) for each in heights], title, zero=True, margin=wide)
    bars = []
    for moment, values in zip(times, heights, strict=True):
        for place, (value, top) in enumerate(zip(values, accumulate(values), strict=True)):
            words = f"to {clock(moment)}\n{layers[place].name}: {short(value)}\nall: {short(sum(values))}"
            bars.append(block(frame, frame.x(moment) - wide / 2, wide, (top - value, top), f"fill c{place}", words))
    return frame.picture(frame.axes(), *bars, frame.legend(looks("fill", layers)))


def block(frame: Frame, x: float, wide: float, span: tuple[float, float], class_: str, words: str) -> str:
    """A piece of a bar from one value to another, a hair's breadth apart from the next."""
    bottom, top = frame.y(span[0]), frame.y(span[1])
    return element("rect", hover(words), x=x, y=top, width=wide, height=max(bottom - top - 0.7, 0.3),
                   class_=class_)


def side_bars(title: str, bars: Sequence[tuple[str, float, str]], colours: Sequence[int] = ()) -> str:
    """A few named lengths, each with its value and what to write beside it; in one colour unless more are given."""
    most = max((value for _, value, _ in bars), default=1.0) or 1.0
    room, tall = WIDTH - 330, 34
    parts = []
    for place, (name, value, words) in enumerate(bars):
        y = 8 + place * tall
        parts.append(text(name, 172, y + 16, "legend", anchor="end"))
        long = max(room * value / most, 1.5)
        parts.append(element("rect", hover(f"{name}: {words}"), x=180, y=y, width=long, height=tall - 12, rx=3,
                             class_=f"fill c{colours[place] if colours else 0}"))
        parts.append(text(words, 188 + long, y + 16, "legend"))
    height = 8 + tall * len(bars)
    return svg("".join(parts), height, title)
