"""Comparisons in Spark's order, and logic of three values.

Spark may evaluate the right side of AND and OR where the left one decides (common expressions are computed first, and
the optimizer reorders), so what either side raises counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weft.final.project.tree import Node, Scope
from weft.final.project.vector import Vector, both, either


def equal(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Equality as SQL has it: NaN equals NaN, and -0.0 equals 0.0."""
    same = left == right
    if left.dtype.kind != "f":
        return same
    return same | ((left != left) & (right != right))


def less(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Spark's order: NaN is greater than anything else."""
    if left.dtype.kind != "f":
        return left < right
    return ~(left >= right) & (left == left)


COMPARE = {
    "=": equal,
    "<>": lambda left, right: ~equal(left, right),
    "<": less,
    ">": lambda left, right: less(right, left),
    "<=": lambda left, right: ~less(right, left),
    ">=": lambda left, right: ~less(left, right),
}


@dataclass(frozen=True, eq=False)
class Compare(Node):
    """`=`, `<>`, `<`, `<=`, `>`, `>=` of two operands of one kind."""

    sign: str
    left: Node
    right: Node

    def evaluate(self, scope: Scope) -> Vector:
        """Null where one operand is."""
        left, right = scope.read(self.left), scope.read(self.right)
        found = COMPARE[self.sign](left.values, right.values)
        return Vector(found, both(left.valid, right.valid), either(left.errors, right.errors))


@dataclass(frozen=True, eq=False)
class NullSafeEqual(Node):
    """`<=>`: two nulls are equal, and a null equals nothing else."""

    left: Node
    right: Node

    def evaluate(self, scope: Scope) -> Vector:
        """Never null."""
        left, right = scope.read(self.left), scope.read(self.right)
        found, errors = equal(left.values, right.values), either(left.errors, right.errors)
        if left.valid is None and right.valid is None:
            return Vector(found, None, errors)
        one, other = (np.True_ if side.valid is None else side.valid for side in (left, right))
        return Vector((found & one & other) | (~one & ~other), None, errors)


@dataclass(frozen=True, eq=False)
class And(Node):
    """False where one side is false, else null where one side is null."""

    left: Node
    right: Node

    def evaluate(self, scope: Scope) -> Vector:
        """Both sides are evaluated everywhere."""
        left, right = scope.read(self.left), scope.read(self.right)
        errors = either(left.errors, right.errors)
        if left.valid is None and right.valid is None:
            return Vector(left.values & right.values, None, errors)
        true = left.true & right.true
        return Vector(true, true | left.false | right.false, errors)


@dataclass(frozen=True, eq=False)
class Or(Node):
    """True where one side is true, else null where one side is null."""

    left: Node
    right: Node

    def evaluate(self, scope: Scope) -> Vector:
        """Both sides are evaluated everywhere."""
        left, right = scope.read(self.left), scope.read(self.right)
        errors = either(left.errors, right.errors)
        if left.valid is None and right.valid is None:
            return Vector(left.values | right.values, None, errors)
        true = left.true | right.true
        return Vector(true, true | (left.false & right.false), errors)


@dataclass(frozen=True, eq=False)
class Not(Node):
    """True where the operand is false; null where it is null."""

    inner: Node

    def evaluate(self, scope: Scope) -> Vector:
        """The opposite."""
        found = scope.read(self.inner)
        return found._replace(values=~found.values)


@dataclass(frozen=True, eq=False)
class IsPresent(Node):
    """`x IS NOT NULL`, of an operand of any kind."""

    inner: Node

    def evaluate(self, scope: Scope) -> Vector:
        """Never null."""
        return scope.present(self.inner)
