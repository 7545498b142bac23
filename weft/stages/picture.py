"""The picture of a plan: source, scan, windows and queries from left to right, as SVG.

Lines are as wide as what flows through them costs. A bar beside the queries of a window is what they would cost alone,
and its filled part what they cost here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

ROW, TOP, LEFT = 26, 34, 12
SOURCE, SCAN, WINDOW, QUERY, COST = LEFT, 150, 470, 660, 900
WIDTH, BAR = 1120, 110
SHOWN = 12
THIN, WIDE = 1.0, 14.0  # lines of what costs nothing, and of what costs all
# The picture brings its own ground: a notebook may be light where the system is dark.
STYLE = """
.weft{font:13px system-ui,sans-serif;background:var(--ground);border-radius:8px}
.weft{--ground:#ffffff;--ink:#1d2733;--soft:#5b6875;--line:#9fb3c8;--box:#eef4fa;--hot:#2563a8}
.weft text{fill:var(--ink)} .weft .soft{fill:var(--soft);font-size:12px} .weft rect{fill:var(--box);stroke:var(--line)}
.weft .tree{fill:none;stroke-dasharray:4 3}
.weft path{fill:none;stroke:var(--line)} .weft .head{fill:var(--hot);font-weight:600}
.weft .alone{fill:none;stroke:var(--line)} .weft .part{fill:var(--hot);stroke:none}
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


@dataclass(frozen=True)
class Shares:
    """What each query costs here and alone, and the sums that widths and bars are of."""

    queries: dict[str, dict]
    whole: float
    longest: float

    def width(self, cost: float) -> float:
        """The width of a line through which so much of the plan's cost flows."""
        part = cost / self.whole if self.whole > 0 else 0.0
        return round(THIN + (WIDE - THIN) * min(max(part, 0.0), 1.0), 2)

    def sum(self, names: Iterable[str], key: str) -> float:
        """What some queries cost or save together."""
        return sum(self.queries[name][key] for name in names if name in self.queries)


def picture(plan: dict) -> str:
    """The whole plan as one SVG element."""
    body, y, shares = [headings()], TOP, shares_of(plan)
    for scan in plan["scans"]:
        drawn, height = draw_scan(scan, y, shares)
        body.append(drawn)
        y += height + 18
    body.append(text(SCAN, y, costs(plan), soft=True, length=140))
    y += 14
    size = f'viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}"'
    named = f'role="img" aria-label="{escape(costs(plan), quote=True)}"'
    return (f'<svg class="weft" xmlns="http://www.w3.org/2000/svg" {size} {named}><style>{STYLE}</style>'
            f'{"".join(body)}</svg>')


def shares_of(plan: dict) -> Shares:
    """The shares of a plan; a bar as long as can be is of the window whose queries cost most alone."""
    shares = Shares(plan["queries"], plan["cost"]["cost"], 0.0)
    rows = (row for scan in plan["scans"] for row in shown_rows(scan["trees"])[0])
    return replace(shares, longest=max((shares.sum(row.queries, "alone") for row in rows), default=0.0))


def costs(plan: dict) -> str:
    """What the plan costs beside its extremes."""
    one, alone, shared = (f"{plan['cost'][key]:.3g} s" for key in ("cost", "no_share_cost", "shared_cost"))
    return f"{plan['optimizer']}: {one} without the answers; No Share {alone}, Shared {shared}"


def headings() -> str:
    """The names of the columns."""
    names = ((SOURCE, "source"), (SCAN, "one scan: slices"), (WINDOW, "windows"), (QUERY, "queries"),
             (COST, "cost, of what alone"))
    return "".join(f'<text class="head" x="{x}" y="18">{name}</text>' for x, name in names)


def draw_scan(scan: dict, y: int, shares: Shares) -> tuple[str, int]:
    """One scan with its windows and queries, and how high it is."""
    rows, hidden = shown_rows(scan["trees"])
    ink, facts = scan_facts(scan)
    height = max(len(rows) + bool(hidden), len(facts)) * ROW
    middle = y + height / 2
    label = scan["source"] if scan["read_from"] is None else f"by {', '.join(scan['read_from'])}"
    parts = [box(SOURCE, middle - 15, 104, 30, label), box_of(SCAN, y, 280, height, facts, ink)]
    parts.append(curve(SOURCE + 104, middle, SCAN, middle, shares.width(scan["cost"])))
    parts += [draw_row(row, y + i * ROW + ROW / 2, middle, shares) for i, row in enumerate(rows)]
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
    cost: float = 0.0


def shown_rows(trees: list[dict]) -> tuple[list[Row], int]:
    """The first rows of a scan, and how many windows are left out; a scan of several trees has a row for each."""
    rows: list[Row] = []
    left, several = SHOWN, len(trees) > 1
    for tree in trees:
        windows = tree["windows"][:left]
        if several and windows:
            rows.append(Row(tree_label(tree), size=len(windows), cost=tree["cost"]))
        rows += [Row(w, tuple(q for q, read in tree["reads"].items() if read == w), hangs=several) for w in windows]
        left -= len(windows)
    return rows, sum(len(tree["windows"]) for tree in trees) - (SHOWN - left)


def tree_label(tree: dict) -> str:
    """What a tree is and costs."""
    slices = tree["slices"]
    edges = "very many" if slices["edges"] is None else slices["edges"]
    noun = "edge" if edges == 1 else "edges"
    return f"tree: {edges} {noun} every {slices['composite_slide']}, {tree['cost']:.3g} s"


def draw_row(row: Row, at: float, middle: float, shares: Shares) -> str:
    """A tree with a box around its windows, or a window with its queries; a tree's windows hang on the tree."""
    if row.size:
        frame = f'<rect class="tree" x="{WINDOW - 12}" y="{at - 12}" width="{WIDTH - WINDOW}" ' \
                f'height="{(row.size + 1) * ROW - 3}" rx="6"/>'
        joined = curve(SCAN + 280, middle, WINDOW - 12, at, shares.width(row.cost))
        return joined + frame + text(WINDOW, at + 4, row.label, length=80)
    width = shares.width(shares.sum(row.queries, "cost"))
    joined = "" if row.hangs else curve(SCAN + 280, middle, WINDOW - 6, at, width)
    named = text(QUERY, at + 4, few(list(row.queries)), "\n".join(told_queries(row, shares)), length=34)
    return joined + text(WINDOW, at + 4, row.label) + curve(WINDOW + 130, at, QUERY - 6, at, width) + named + bar(
        row, at, shares)


def told_queries(row: Row, shares: Shares) -> Iterator[str]:
    """Each query of a window with what it costs and saves."""
    for name in row.queries:
        found = shares.queries.get(name)
        yield name if found is None else (f"{name}: {found['cost']:.3g} s, alone {found['alone']:.3g} s, "
                                          f"{'saves' if found['saved'] >= 0 else 'loses'} {abs(found['saved']):.3g} s")


def bar(row: Row, at: float, shares: Shares) -> str:
    """What a window's queries cost of what they would alone, as a bar and as a share."""
    cost, alone = shares.sum(row.queries, "cost"), shares.sum(row.queries, "alone")
    if alone <= 0 or shares.longest <= 0:
        return ""
    whole, part = (round(BAR * value / shares.longest, 1) for value in (alone, min(cost, alone)))
    saved = f"saves {1 - cost / alone:.0%}" if cost <= alone else f"{cost / alone - 1:.0%} more"
    return (f'<rect class="alone" x="{COST}" y="{at - 6}" width="{whole}" height="12" rx="2"/>'
            f'<rect class="part" x="{COST}" y="{at - 6}" width="{part}" height="12" rx="2"/>'
            + text(COST + BAR + 8, at + 4, saved, f"{cost:.3g} s, alone {alone:.3g} s", soft=True))


def scan_facts(scan: dict) -> tuple[int, list[str]]:
    """What stands in a scan's box, and how many of its lines are in full ink."""
    edges = scan["slices"]["edges"]
    first = [*join_facts(scan.get("join")), f"by {', '.join(scan['keys']) or 'nothing'}"]
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


def join_facts(join: dict | None) -> list[str]:
    """What stands of a join in the box of the scan that reads it."""
    if join is None:
        return []
    steps = [f"{name} ({join['bins'][name]} bins)" if name in join["bins"] else name for name in join["order"]]
    return [" ⋈ ".join(steps), *(f"on {condition}" for condition in join["on"])]


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


def curve(x1: float, y1: float, x2: float, y2: float, width: float = THIN) -> str:
    """A smooth line between two points."""
    middle = (x1 + x2) / 2
    return f'<path stroke-width="{width}" d="M{x1},{y1} C{middle},{y1} {middle},{y2} {x2},{y2}"/>'


def stream_page(svg: str, scans: Sequence[dict]) -> str:
    """A running stream for a notebook: how each scan does, above the plan."""
    rows = "".join("<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in scan_row(scan)) + "</tr>"
                   for scan in scans)
    heads = "".join(f"<th>{name}</th>" for name in ("scan", "state", "rows/s", "watermark", "trigger", "state size"))
    return f"<div><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{svg}</div>"


def scan_row(scan: dict) -> tuple[str, ...]:
    """One scan's last trigger in words."""
    state = ("runs" if scan["triggers"] else "starts") if scan["active"] else "has ended"
    return (scan["scan"], state, f"{scan['rows_per_second']:,.0f}", scan["watermark"] or "none yet",
            f"{scan['trigger_seconds']:.2f} s", f"{scan['state_bytes'] / 2**20:.1f} MiB")


def page(svg: str, plain: str) -> str:
    """A page with the picture and the text."""
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Weft plan</title><style>{PAGE_STYLE}</style>'
        f"<h1>Plan</h1>{svg}<h2>As text</h2><pre>{escape(plain)}</pre></html>"
    )
