"""Texts in expressions that workers evaluate: constants, and comparisons of columns with them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from weft.final.project.leaves import Call, Key, Value
from weft.final.project.texts import CompareText
from weft.final.project.tree import Node
from weft.stages.project.coercion import NotCoveredError

PLAIN = re.compile(r"""[^'"\\]*""")  # a quote in a text has several spellings, and settings say what they mean
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, eq=False)
class Text(Node):
    """A constant text, which stands beside a column of texts and nowhere else."""

    text: str


def text_literal(text: str) -> Text:
    """A constant text that is what it looks like."""
    if not PLAIN.fullmatch(text):
        raise NotCoveredError("a text with a quote or a backslash")
    return Text("text", text)


def compare_text(sign: str, one: Node, other: Node) -> Node:
    """A comparison of a column with a constant text."""
    if isinstance(one, Text):
        one, other, sign = other, one, MIRRORED.get(sign, sign)
    if not isinstance(other, Text) or not isinstance(one, Key | Value | Call) or one.kind != "string":
        raise NotCoveredError(f"a comparison of {one.kind} with a text")
    return CompareText("boolean", sign, one, other.text)
