"""Columns of types that expressions do not compute with, in a wider type that holds each of their values."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from weft.final.project.tree import Node, Scope
from weft.final.project.vector import ARROW, Vector, from_arrow


@dataclass(frozen=True, eq=False)
class Widened(Node):
    """A tinyint, smallint or float as an int, bigint or double."""

    inner: Node

    def evaluate(self, scope: Scope) -> Vector:
        """The same values."""
        return from_arrow(scope.array(self.inner).cast(ARROW[self.kind]), self.kind)


@dataclass(frozen=True, eq=False)
class LongerDecimal(Node):
    """A decimal with room for more digits before the point, which is only passed on."""

    inner: Node
    precision: int
    scale: int

    def array(self, scope: Scope) -> pa.Array:
        """The same values."""
        return scope.array(self.inner).cast(pa.decimal128(self.precision, self.scale))
