"""The picture of a plan of joins: lines of text, and SVG whose boxes lie apart and inside."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import combinations

import pytest

from weft.stages.join_picture import JoinLeaf, JoinTree, join_picture, share_text, text_picture

FACTS = "10 rows/s, window 10 rows"
THREE = JoinTree((JoinLeaf("A", FACTS, 0.013), JoinLeaf("C", FACTS, 0.0), JoinLeaf("B", FACTS, 1.0)),
                 (("AC", "1.299 rows/s"), ("ACB", "701.3 rows/s")))


def test_the_tree_as_text():
    assert text_picture(THREE).splitlines() == [
        "⋈ ACB  701.3 rows/s",
        "├─ ⋈ AC  1.299 rows/s",
        f"│  ├─ A  {FACTS}  [drop box keeps 1.3 %]",
        f"│  └─ C  {FACTS}  [drop box keeps nothing]",
        f"└─ B  {FACTS}",
    ]


@pytest.mark.parametrize(("share", "words"), [(1.0, "all"), (0.0, "nothing"), (0.5, "50 %"), (0.98765, "98.8 %"),
                                              (2e-7, "2e-05 %")])
def test_shares_in_words(share, words):
    assert share_text(share) == words


def many(size: int) -> JoinTree:
    leaves = tuple(JoinLeaf(f"a_stream_with_a_long_name_{n} <&>", FACTS * 3, n / size) for n in range(size))
    return JoinTree(leaves, tuple((f"j{n}", f"{n} rows/s") for n in range(1, size)))


@pytest.mark.parametrize("tree", [THREE, many(2), many(7)], ids=["three", "two", "seven"])
def test_the_tree_as_svg(tree):
    root = ElementTree.fromstring(join_picture(tree))
    width, height = (float(root.attrib[side]) for side in ("width", "height"))
    boxes = [tuple(float(r.attrib[key]) for key in ("x", "y", "width", "height")) for r in root.iter() if
             r.tag.endswith("rect")]
    assert len(boxes) == len(tree.leaves) + len(tree.joins) + sum(leaf.drops for leaf in tree.leaves)
    assert all(x >= 0 and x + w <= width and y >= 0 and y + h <= height for x, y, w, h in boxes)
    for (x1, y1, w1, h1), (x2, y2, w2, h2) in combinations(boxes, 2):
        assert x1 + w1 <= x2 or x2 + w2 <= x1 or y1 + h1 <= y2 or y2 + h2 <= y1
    lines = [list(map(float, re.findall(r"[\d.]+", p.attrib["d"]))) for p in root.iter() if p.tag.endswith("path")]
    assert len(lines) == 2 * len(tree.joins) + sum(leaf.drops for leaf in tree.leaves)
    ends = {(x, y + h / 2) for x, y, _, h in boxes}
    assert all((line[-2], line[-1]) in ends for line in lines)
    titles = " ".join(t.text or "" for t in root.iter() if t.tag.endswith("title"))
    assert all(leaf.name in titles for leaf in tree.leaves)
