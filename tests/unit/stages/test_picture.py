"""The picture of a plan is readable on light and dark pages: every ink stands out from what it is written on."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from weft.stages.picture import PAGE_STYLE, STYLE, page, stream_page

DARK = "@media (prefers-color-scheme:dark)"
READABLE = 4.5  # the contrast that WCAG 2 asks for in texts of this size


def colours(style: str, dark: bool) -> dict[str, str]:
    """The variables of a style sheet in one scheme; those of the dark one override the others."""
    light, _, rest = style.partition(DARK)
    return dict(re.findall(r"--(\w+):(#[0-9a-f]{6})", light + (rest if dark else "")))


def luminance(colour: str) -> float:
    """How bright a colour is (WCAG 2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_inks_stand_out(dark):
    found, around = colours(STYLE, dark), colours(PAGE_STYLE, dark)
    assert contrast(around["ink"], around["page"]) >= READABLE
    for ink in ("ink", "soft", "hot"):
        assert min(contrast(found[ink], found[back]) for back in ("ground", "box")) >= READABLE
    assert contrast(found["line"], found["ground"]) >= 1.5


def test_the_two_schemes_differ():
    assert luminance(colours(STYLE, False)["ground"]) > 0.8 > 0.2 > luminance(colours(STYLE, True)["ground"])
    assert luminance(colours(PAGE_STYLE, False)["page"]) > 0.8 > 0.2 > luminance(colours(PAGE_STYLE, True)["page"])


def test_the_scheme_and_the_ground_are_set_where_they_count():
    assert ":root{color-scheme:light dark" in PAGE_STYLE and "background:var(--page)" in PAGE_STYLE
    assert "background:var(--ground)" in STYLE
    assert PAGE_STYLE in page("<svg></svg>", "a < b") and "a &lt; b" in page("<svg></svg>", "a < b")


@pytest.mark.parametrize("dark", [False, True])
def test_inks_of_the_services_page_stand_out(dark):
    text = re.sub(r":\s+#", ":#", files("weft.server").joinpath("page/style.css").read_text()).replace(
        "(prefers-color-scheme: dark)", "(prefers-color-scheme:dark)")
    found = colours(text.replace("on-hot", "onhot").replace("bad-ground", "badground"), dark)
    for ink in ("ink", "soft", "hot", "good", "warn", "bad"):
        assert min(contrast(found[ink], found[back]) for back in ("page", "card")) >= READABLE, ink
    assert contrast(found["onhot"], found["hot"]) >= READABLE and contrast(found["ink"], found["badground"]) >= READABLE
    assert all(contrast(found[f"c{i}"], found["card"]) >= 3 for i in range(6))


def test_a_stream_shows_its_scans_above_the_plan():
    scan = {"scan": "scan-<b>", "active": True, "triggers": True, "rows_per_second": 1234.5, "watermark": None,
            "trigger_seconds": 1.5, "state_bytes": 3 << 20}
    text = stream_page("<svg></svg>", [scan, {**scan, "active": False}])
    assert "scan-&lt;b&gt;" in text and "1,234" in text and "1.50 s" in text and "3.0 MiB" in text
    assert "none yet" in text and "has ended" in text and text.index("</table>") < text.index("<svg>")
