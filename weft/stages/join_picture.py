"""The picture of a plan of joins: streams with their drop boxes and the joins over them, as text and as SVG."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from weft.stages.picture import STYLE, curve, text

STREAM, DROP, JOIN = 12, 278, 450
STEP, ROW, TOP = 190, 58, 40
TALL, WIDE, LEAF, BOX = 38, 150, 236, 130


@dataclass(frozen=True)
class JoinLeaf:
    """A stream of a plan, in the order of joining: what is said of it, and the share that its drop box keeps."""

    name: str
    facts: str
    kept: float

    @property
    def drops(self) -> bool:
        """Whether it has a drop box."""
        return self.kept < 1


@dataclass(frozen=True)
class JoinTree:
    """A left-deep plan to draw: its streams, and for each join the name and rate of what comes out of it."""

    leaves: tuple[JoinLeaf, ...]
    joins: tuple[tuple[str, str], ...]


def share_text(share: float) -> str:
    """A kept share in words."""
    if share >= 1:
        return "all"
    return "nothing" if share <= 0 else f"{100 * share:.3g} %"


def text_picture(tree: JoinTree) -> str:
    """The tree in lines, the last join on top."""
    return "\n".join(text_lines(tree, len(tree.joins)))


def text_lines(tree: JoinTree, level: int) -> list[str]:
    """The lines of the first joins, up to a level; below all of them is the first stream."""
    if level == 0:
        return [leaf_text(tree.leaves[0])]
    name, rate = tree.joins[level - 1]
    first, *below = text_lines(tree, level - 1)
    lines = [f"⋈ {name}  {rate}", f"├─ {first}", *(f"│  {line}" for line in below)]
    return [*lines, f"└─ {leaf_text(tree.leaves[level])}"]


def leaf_text(leaf: JoinLeaf) -> str:
    """A stream in a line, with its drop box."""
    box = f"  [drop box keeps {share_text(leaf.kept)}]" if leaf.drops else ""
    return f"{leaf.name}  {leaf.facts}{box}"


def join_picture(tree: JoinTree) -> str:
    """The tree as one SVG element: streams on the left, each join to the right of the one before."""
    width = JOIN + STEP * (len(tree.joins) - 1) + WIDE + 12
    height = TOP + ROW * len(tree.leaves) + 4
    parts = [heading(STREAM, "streams"), heading(DROP, "drop boxes"), heading(JOIN, "joins")]
    parts += [draw_leaf(leaf, row(place)) for place, leaf in enumerate(tree.leaves)]
    parts += [draw_join(tree, number) for number in range(len(tree.joins))]
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg class="weft" xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>{"".join(parts)}</svg>'


def heading(x: float, name: str) -> str:
    """The name of a column."""
    return f'<text class="head" x="{x}" y="20">{escape(name)}</text>'


def row(place: int) -> float:
    """The middle of a stream's row."""
    return TOP + ROW * place + TALL / 2


def middle(number: int) -> float:
    """The middle of a join: between what it joins, so that the tree leans to the right."""
    return (row(0) if number == 0 else middle(number - 1)) * 0.5 + row(number + 1) * 0.5


def draw_leaf(leaf: JoinLeaf, at: float) -> str:
    """A stream, and the drop box before its join."""
    stream = two_lines(STREAM, at, LEAF, leaf.name, leaf.facts)
    if not leaf.drops:
        return stream
    box = two_lines(DROP, at, BOX, "drop box", f"keeps {share_text(leaf.kept)}")
    return stream + curve(STREAM + LEAF, at, DROP, at) + box


def draw_join(tree: JoinTree, number: int) -> str:
    """A join with the lines from what it joins."""
    x, at = JOIN + STEP * number, middle(number)
    before = leaf_end(tree, 0) if number == 0 else (JOIN + STEP * (number - 1) + WIDE, middle(number - 1))
    lines = "".join(curve(start, height, x, at) for start, height in (before, leaf_end(tree, number + 1)))
    return lines + two_lines(x, at, WIDE, f"⋈ {tree.joins[number][0]}", tree.joins[number][1])


def leaf_end(tree: JoinTree, place: int) -> tuple[float, float]:
    """Where the line from a stream to its join begins."""
    return (DROP + BOX if tree.leaves[place].drops else STREAM + LEAF), row(place)


def two_lines(x: float, at: float, width: float, first: str, second: str) -> str:
    """A box with a name and what is said of it."""
    frame = f'<rect x="{x}" y="{at - TALL / 2}" width="{width}" height="{TALL}" rx="6"/>'
    most = int(width / 6.5)
    return frame + text(x + 8, at - 3, first, length=most) + text(x + 8, at + 13, second, soft=True, length=most)
