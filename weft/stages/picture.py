"""The picture of a plan: source, scan, windows and queries from left to right, as SVG."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

ROW, TOP, LEFT = 26, 34, 12
SOURCE, SCAN, WINDOW, QUERY = LEFT, 150, 470, 660
WIDTH = 1120
SHOWN = 12
# The picture brings its own ground: a notebook may be light where the system is dark.
STYLE = """
.weft{font:13px system-ui,sans-serif;background:var(--ground);border-radius:8px}
.weft{--ground:#ffffff;--ink:#1d2733;--soft:#5b6875;--line:#9fb3c8;--box:#eef4fa;--hot:#2563a8}
.weft text{fill:var(--ink)} .weft .soft{fill:var(--soft);font-size:12px} .weft rect{fill:var(--box);stroke:var(--line)}
.weft .tree{fill:none;stroke-dasharray:4 3}
.weft path{fill:none;stroke:var(--line)} .weft .head{fill:var(--hot);font-weight:600}
@media (prefers-color-scheme:dark){
.weft{--ground:#18212b;--ink:#e7edf3;--soft:#a3b1bf;--line:#5d7287;--box:#223140;--hot:#7db8f0}}
"""
# `color-scheme` must stand on the root: on the body alone it turns the text light and leaves the page white.
PAGE_STYLE = """
:root{color-scheme:light dark;--page:#ffffff;--ink:#1d2733}
@media (prefers-color-scheme:dark){:root{--page:#10161d;--ink:#e7edf3}}
body{font:15px system-ui,sans-serif;margin:2rem;background:var(--page);color:var(--ink)}
pre{overflow:auto} svg{max-width:100%;height:auto}
"""


def picture(plan: dict) -> str:
    """The whole plan as one SVG element."""
    body, y = [headings()], TOP
    for scan in plan["scans"]:
        drawn, height = draw_scan(scan, y)
        body.append(drawn)
        y += height + 18
    body.append(text(SCAN, y, costs(plan), soft=True, length=140))
    y += 14
    size = f'viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}"'
    return f'<svg class="weft" xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>{"".join(body)}</svg>'


def costs(plan: dict) -> str:
    """What the plan costs beside its extremes."""
    one, alone, shared = (f"{plan['cost'][key]:.3g} s" for key in ("cost", "no_share_cost", "shared_cost"))
    return f"{plan['optimizer']}: {one} without the answers; No Share {alone}, Shared {shared}"


def headings() -> str:
    """The names of the columns."""
    names = ((SOURCE, "source"), (SCAN, "one scan: slices"), (WINDOW, "windows"), (QUERY, "queries"))
    return "".join(f'<text class="head" x="{x}" y="18">{name}</text>' for x, name in names)


def draw_scan(scan: dict, y: int) -> tuple[str, int]:
    """One scan with its windows and queries, and how high it is."""
    rows, hidden = shown_rows(scan["trees"])
    ink, facts = scan_facts(scan)
    height = max(len(rows) + bool(hidden), len(facts)) * ROW
    middle = y + height / 2
    label = scan["source"] if scan["read_from"] is None else f"by {', '.join(scan['read_from'])}"
    parts = [box(SOURCE, middle - 15, 104, 30, label), box_of(SCAN, y, 280, height, facts, ink)]
    parts.append(curve(SOURCE + 104, middle, SCAN, middle))
    parts += [draw_row(row, y + i * ROW + ROW / 2, middle) for i, row in enumerate(rows)]
    if hidden:
        parts.append(text(WINDOW, y + len(rows) * ROW + 18, f"and {hidden} more windows", soft=True))
    return "".join(parts), height


@dataclass(frozen=True)
class Row:
    """A line of the picture: a window with its queries; or a tree, of which `size` windows follow."""

    label: str
    queries: tuple[str, ...] = ()
    size: int = 0
    hangs: bool = False


def shown_rows(trees: list[dict]) -> tuple[list[Row], int]:
    """The first rows of a scan, and how many windows are left out; a scan of several trees has a row for each."""
    rows: list[Row] = []
    left, several = SHOWN, len(trees) > 1
    for tree in trees:
        windows = tree["windows"][:left]
        if several and windows:
            rows.append(Row(tree_label(tree), size=len(windows)))
        rows += [Row(w, tuple(q for q, read in tree["reads"].items() if read == w), hangs=several) for w in windows]
        left -= len(windows)
    return rows, sum(len(tree["windows"]) for tree in trees) - (SHOWN - left)


def tree_label(tree: dict) -> str:
    """What a tree is and costs."""
    slices = tree["slices"]
    edges = "very many" if slices["edges"] is None else slices["edges"]
    noun = "edge" if edges == 1 else "edges"
    return f"tree: {edges} {noun} every {slices['composite_slide']}, {tree['cost']:.3g} s"


def draw_row(row: Row, at: float, middle: float) -> str:
    """A tree with a box around its windows, or a window with its queries; a tree's windows hang on the tree."""
    if row.size:
        frame = f'<rect class="tree" x="{WINDOW - 12}" y="{at - 12}" width="{WIDTH - WINDOW}" ' \
                f'height="{(row.size + 1) * ROW - 3}" rx="6"/>'
        return curve(SCAN + 280, middle, WINDOW - 12, at) + frame + text(WINDOW, at + 4, row.label, length=80)
    joined = "" if row.hangs else curve(SCAN + 280, middle, WINDOW - 6, at)
    named = text(QUERY, at + 4, few(list(row.queries)), ", ".join(row.queries), length=62)
    return joined + text(WINDOW, at + 4, row.label) + curve(WINDOW + 130, at, QUERY - 6, at) + named


def scan_facts(scan: dict) -> tuple[int, list[str]]:
    """What stands in a scan's box, and how many of its lines are in full ink."""
    edges = scan["slices"]["edges"]
    first = [f"by {', '.join(scan['keys']) or 'nothing'}"]
    if scan["where"]:
        first.append(f"where {scan['where']}")
    if scan["predicates"]:
        first.append(f"{len(scan['predicates'])} predicates, by {scan['sharing']}")
    first.append(f"{'very many' if edges is None else edges} slices every {scan['slices']['composite_slide']}")
    if scan["read_from"] is not None:
        first.append(f"derived: saves {scan['derived_saves']:.3g} s")
    first.append(f"{scan['cost']:.3g} s, its queries alone {scan['no_share_cost']:.3g} s")
    shared = scan["components"]
    listed = shared[:5] + ([f"and {len(shared) - 5} more components"] if len(shared) > 5 else [])
    return len(first), first + listed


def few(names: list[str]) -> str:
    """The first names and how many follow."""
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def clip(value: str, length: int) -> str:
    """A text short enough for its box."""
    return value if len(value) <= length else value[: length - 1] + "…"


def text(x: float, y: float, value: str, title: str = "", *, soft: bool = False, length: int = 44) -> str:
    """A line of text, whole in its title."""
    kind = ' class="soft"' if soft else ""
    return f'<text{kind} x="{x}" y="{y}">{escape(clip(value, length))}<title>{escape(title or value)}</title></text>'


def box(x: float, y: float, width: float, height: float, label: str) -> str:
    """A box with one line of text."""
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>' + text(x + 10, y + 20, label, length=13)


def box_of(x: float, y: float, width: float, height: float, lines: list[str], ink: int) -> str:
    """A box with several lines of text, the first ones in full ink."""
    body = "".join(text(x + 10, y + 18 + i * ROW, line, soft=i >= ink, length=38) for i, line in enumerate(lines))
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>{body}'


def curve(x1: float, y1: float, x2: float, y2: float) -> str:
    """A smooth line between two points."""
    middle = (x1 + x2) / 2
    return f'<path d="M{x1},{y1} C{middle},{y1} {middle},{y2} {x2},{y2}"/>'


def page(svg: str, plain: str) -> str:
    """A page with the picture and the text."""
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Weft plan</title><style>{PAGE_STYLE}</style>'
        f"<h1>Plan</h1>{svg}<h2>As text</h2><pre>{escape(plain)}</pre></html>"
    )
