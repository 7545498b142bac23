"""What every node of an expression has, and the way by which one reads another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Protocol

import pyarrow as pa

from weft.final.project.vector import Vector


class Scope(Protocol):
    """Some answers, of which nodes read values."""

    def read(self, node: Node) -> Vector:
        """The values of a node, computed once however many read them."""

    def component(self, name: str, kind: str) -> Vector:
        """The values of a component."""

    def key(self, index: int, kind: str) -> Vector:
        """The values of a key."""

    def call(self, index: int) -> Vector:
        """The values of a call."""

    def present(self, node: Node) -> Vector:
        """Which values are not null, of a node of any kind."""

    def array(self, node: Node) -> pa.Array:
        """The values of a node that is only passed on, as they came."""


@dataclass(frozen=True, eq=False)
class Node:
    """An expression: its `kind` is Spark's type as simpleString. Nodes are told apart by identity: 0.0 equals -0.0."""

    kind: str

    def evaluate(self, scope: Scope) -> Vector:
        """The values of the expression."""
        raise NotImplementedError(f"{type(self).__name__} of type {self.kind} is only passed on.")


def parts_of(node: Node) -> Iterator[Node]:
    """The nodes directly below a node."""
    for field in fields(node):
        yield from _nodes(getattr(node, field.name))


def _nodes(held: object) -> Iterator[Node]:
    if isinstance(held, Node):
        yield held
    elif isinstance(held, tuple):
        for part in held:
            yield from _nodes(part)


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it."""
    yield node
    for part in parts_of(node):
        yield from walk(part)
