"""The types that Spark gives operands, and the casts by which it brings them to one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.final.project.arithmetic import Cast
from weft.final.project.leaves import Call, Key, Literal, Value, WindowEnd, WindowStart
from weft.final.project.tree import Node, walk
from weft.final.project.vector import DTYPES, INTEGRAL

READS = (Value, Key, Call, WindowStart, WindowEnd)
VOID = "void"
NUMBERS = ("int", "bigint", "double")


class NotCoveredError(Exception):
    """An expression that a worker cannot evaluate as Spark does; says why."""


@dataclass(frozen=True, eq=False)
class Exact(Node):
    """A decimal literal, which only becomes a double where it stands beside one."""

    text: str


def is_constant(node: Node) -> bool:
    """Whether an expression reads nothing of an answer."""
    return not any(isinstance(part, READS) for part in walk(node))


def require(kind: str, kinds: Sequence[str], what: str) -> None:
    """Raise unless a kind is among some."""
    if kind not in kinds:
        raise NotCoveredError(f"{what} of type {kind}")


def coerce(node: Node, kind: str) -> Node:
    """A node as Spark casts it to a kind that holds all its values."""
    if node.kind == kind:
        return node
    if node.kind == VOID and kind in DTYPES:
        return Literal(kind, None)
    if isinstance(node, Exact) and kind == "double":
        return Literal(kind, float(node.text) + 0.0)  # a decimal has no -0
    if (node.kind, kind) in (("int", "bigint"), ("int", "double"), ("bigint", "double")):
        return Cast(kind, node)
    raise NotCoveredError(f"a cast from {node.kind} to {kind}")


def common(nodes: Sequence[Node], what: str) -> str:
    """The kind to which Spark casts operands: the widest of numbers, or the one that all have."""
    kinds = {node.kind for node in nodes} - {VOID}
    if len(kinds) == 1 and kinds <= set(DTYPES):
        return kinds.pop()
    exact = {node.kind for node in nodes if isinstance(node, Exact)}
    if "double" in kinds and kinds - exact <= set(NUMBERS):
        return "double"
    if kinds and kinds <= set(INTEGRAL):
        return "bigint"
    raise NotCoveredError(f"{what} of types {', '.join(sorted(kinds)) or VOID}")


def require_numbers(parts: Sequence[Node], what: str) -> str:
    """The common kind of operands that must be numbers, and not NULL."""
    if any(part.kind == VOID for part in parts):
        raise NotCoveredError(f"{what} of NULL")
    kind = common(parts, what)
    require(kind, NUMBERS, what)
    return kind


def truth(node: Node) -> Node:
    """A node that must be a boolean; NULL is one."""
    node = coerce(node, "boolean") if node.kind == VOID else node
    require(node.kind, ("boolean",), "a condition")
    return node
