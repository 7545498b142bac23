"""Integers as bits, as Java has them: two's complement, and shifts by as many places as the type has at most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weft.final.project.tree import Node, Scope
from weft.final.project.vector import Vector, both, either

OPERATIONS = {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}
SHIFTS = {"<<": np.left_shift, ">>": np.right_shift}


@dataclass(frozen=True, eq=False)
class Bitwise(Node):
    """`&`, `|`, `^` of two integers of the node's kind."""

    sign: str
    left: Node
    right: Node

    def evaluate(self, scope: Scope) -> Vector:
        """Null where one operand is."""
        left, right = scope.read(self.left), scope.read(self.right)
        return Vector(OPERATIONS[self.sign](left.values, right.values), both(left.valid, right.valid),
                      either(left.errors, right.errors))


@dataclass(frozen=True, eq=False)
class Shift(Node):
    """`shiftleft` and `shiftright` of an integer of the node's kind by an int."""

    sign: str
    left: Node
    right: Node

    def evaluate(self, scope: Scope) -> Vector:
        """Null where one operand is; of the places only the last bits count, those that the type has use for."""
        left, right = scope.read(self.left), scope.read(self.right)
        kind = left.values.dtype
        places = (right.values & (8 * kind.itemsize - 1)).astype(kind)
        return Vector(SHIFTS[self.sign](left.values, places), both(left.valid, right.valid),
                      either(left.errors, right.errors))


@dataclass(frozen=True, eq=False)
class Inverted(Node):
    """`~x`."""

    inner: Node

    def evaluate(self, scope: Scope) -> Vector:
        """All bits turned over."""
        found = scope.read(self.inner)
        return found._replace(values=np.invert(found.values))
