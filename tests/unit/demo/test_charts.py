"""Charts: well-formed SVG from plain lists, with hover words, round ticks and nothing from elsewhere."""

import xml.etree.ElementTree as ET

import pytest

from examples.demo.charts import Candle, Series, band_chart, candle_chart, line_chart, side_bars, stacked_bars
from examples.demo.svg import Scale, clock, element, short, ticks, time_ticks

TIMES = [1000.0 * i for i in range(20)]
WAVE = Series("wave <&>", TIMES, [(-1.0) ** i * i for i in range(20)])
FLAT = Series("flat", TIMES, [3.0] * 20)
NOTHING = Series("nothing", [], [])


def drawn() -> dict[str, str]:
    candles = [Candle(at, 10, 12, 9, 11) for at in TIMES]
    return {
        "lines": line_chart("t", [WAVE, FLAT]),
        "no points": line_chart("t", [NOTHING]),
        "one point": line_chart("t", [Series("one", [5.0], [2.0])]),
        "band": band_chart("t", "between", (WAVE, FLAT), [FLAT]),
        "candles": candle_chart("t", candles),
        "no candles": candle_chart("t", []),
        "stacked": stacked_bars("t", TIMES, [FLAT, FLAT]),
        "no bars": stacked_bars("t", [], []),
        "side": side_bars("t", [("a", 1.0, "1 s"), ("b", 0.0, "0 s")], colours=(0, 1)),
        "no side": side_bars("t", []),
    }


@pytest.mark.parametrize("name", drawn())
def test_every_chart_is_well_formed_and_alone(name):
    picture = drawn()[name]
    root = ET.fromstring(picture)
    assert root.tag == "svg" and root.get("aria-label") == "t"
    assert "nan" not in picture and "inf" not in picture and "href" not in picture and "http" not in picture


def test_hovering_tells_every_value_of_the_moment():
    titles = [each.text for each in ET.fromstring(line_chart("t", [WAVE, FLAT], unit=" %")).iter("title")]
    assert len(titles) == 20
    assert titles[1] == "00:16\nwave <&>: -1.00 %\nflat: 3.00 %"


def test_long_lines_get_few_hover_columns():
    long = Series("long", [float(i) for i in range(10_000)], [1.0] * 10_000)
    assert len(list(ET.fromstring(line_chart("t", [long])).iter("title"))) <= 150


def test_bars_stand_on_each_other():
    root = ET.fromstring(stacked_bars("t", TIMES, [FLAT, FLAT]))
    lower, upper, *_ = (each for each in root.iter("rect") if each.find("title") is not None)
    assert float(upper.get("y")) + float(upper.get("height")) == pytest.approx(float(lower.get("y")), abs=1)


def test_ticks_are_round_and_within():
    assert ticks(0, 10) == [0, 2, 4, 6, 8, 10]
    assert ticks(213.4, 215.2) == pytest.approx([213.5, 214, 214.5, 215])
    assert ticks(5, 5) == [5]
    assert ticks(-1e-9, 1e-9)
    hours = [clock(each) for each in time_ticks(8 * 3600, 18 * 3600)]
    assert hours == ["08:00", "10:00", "12:00", "14:00", "16:00", "18:00"]


def test_numbers_are_short():
    known = {1.5e9: "1.5 bn", 2e6: "2 M", 35_000: "35 k", 0.04: "0.04", 0: "0", -1200: "-1.2 k"}
    assert {value: short(value) for value in known} == known


def test_scales_map_ends_and_survive_one_value():
    assert Scale(0, 10, 100, 200)(5) == 150
    assert Scale(3, 3, 100, 200)(3) == 150


def test_attributes_are_escaped():
    assert element("a", b='"<', class_="x") == '<a b="&quot;&lt;" class="x"/>'
