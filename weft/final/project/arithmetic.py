"""Arithmetic as Java has it: doubles by IEEE 754, integers that wrap around or, under ANSI, raise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weft.final.project.overflow import OVERFLOWS
from weft.final.project.tree import Node, Scope
from weft.final.project.vector import DTYPES, INTEGRAL, LEAST, Vector, both, either

FUNCTIONS = {"+": np.add, "-": np.subtract, "*": np.multiply}


@dataclass(frozen=True, eq=False)
class Cast(Node):
    """A cast that neither fails nor depends on settings: to the same kind, int to bigint, either to double.

    Java rounds a long to the nearest double, ties to even; so does NumPy.
    """

    inner: Node

    def evaluate(self, scope: Scope) -> Vector:
        """The values in the other kind."""
        found = scope.read(self.inner)
        return found._replace(values=found.values.astype(DTYPES[self.kind], copy=False))


@dataclass(frozen=True, eq=False)
class Negate(Node):
    """`-x`; the least integer has no opposite."""

    inner: Node
    ansi: bool

    def evaluate(self, scope: Scope) -> Vector:
        """The opposites."""
        found = scope.read(self.inner)
        return Vector(np.negative(found.values), found.valid, raised_by_least(found, self.kind, self.ansi))


@dataclass(frozen=True, eq=False)
class Absolute(Node):
    """`abs(x)`; that of the least integer is no integer of its kind."""

    inner: Node
    ansi: bool

    def evaluate(self, scope: Scope) -> Vector:
        """The absolute values; what is left of the least integer without ANSI is itself, in Java and NumPy."""
        found = scope.read(self.inner)
        return Vector(np.abs(found.values), found.valid, raised_by_least(found, self.kind, self.ansi))


def raised_by_least(found: Vector, kind: str, ansi: bool) -> np.ndarray | None:
    """Where the operand is the least integer and that raises, beside what raised before."""
    if not ansi or kind not in INTEGRAL:
        return found.errors
    least = both(np.equal(found.values, LEAST[kind]), found.valid)
    return either(found.errors, least)


@dataclass(frozen=True, eq=False)
class SquareRoot(Node):
    """`sqrt(x)` of a double: NaN of what is negative. IEEE 754 rounds it rightly, so all machines agree."""

    inner: Node

    def evaluate(self, scope: Scope) -> Vector:
        """The roots."""
        found = scope.read(self.inner)
        return found._replace(values=np.sqrt(found.values))


@dataclass(frozen=True, eq=False)
class Arithmetic(Node):
    """`+`, `-`, `*` of two integers or doubles of the node's kind."""

    sign: str
    left: Node
    right: Node
    ansi: bool

    def evaluate(self, scope: Scope) -> Vector:
        """The results; null where one operand is."""
        left, right = scope.read(self.left), scope.read(self.right)
        values, valid = FUNCTIONS[self.sign](left.values, right.values), both(left.valid, right.valid)
        errors = either(left.errors, right.errors)
        if self.ansi and self.kind in INTEGRAL:
            overflowed = OVERFLOWS[self.sign](left.values, right.values, values)
            errors = either(errors, both(overflowed, valid))
        return Vector(values, valid, errors)


@dataclass(frozen=True, eq=False)
class Quotient(Node):
    """`/` of doubles, or `%`: the divisor zero makes null or, under ANSI, raises where no operand is null."""

    sign: str
    left: Node
    right: Node
    ansi: bool

    def evaluate(self, scope: Scope) -> Vector:
        """The results."""
        left, right = scope.read(self.left), scope.read(self.right)
        valid, errors = both(left.valid, right.valid), either(left.errors, right.errors)
        zero = right.values == 0
        values = np.divide(left.values, right.values) if self.sign == "/" else remainder(left.values, right.values)
        if not zero.any():
            return Vector(values, valid, errors)
        if self.ansi:
            return Vector(values, valid, either(errors, both(zero, valid)))
        return Vector(values, both(valid, ~zero), errors)


def remainder(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """What division leaves, with the sign of the dividend; anything where the divisor is zero."""
    if left.dtype.kind == "f":
        return np.fmod(left, right)
    # The remainder by one and by minus one is zero; the latter traps on the least integer.
    return np.fmod(left, np.where((right == 0) | (right == -1), right.dtype.type(1), right))
