"""IF and CASE, of which coalesce, nullif and nvl are made too: a branch raises only for the answers that reach it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weft.final.project.leaves import Call, Value
from weft.final.project.tree import Node, Scope, walk
from weft.final.project.vector import NeedsSpark, Vector, both, either, null


@dataclass(frozen=True, eq=False)
class Case(Node):
    """The value of the first case whose condition is true, else `otherwise`, which may be none: null."""

    cases: tuple[tuple[Node, Node], ...]
    otherwise: Node | None

    def evaluate(self, scope: Scope) -> Vector:
        """The cases from the last to the first, each before what follows it."""
        found = null(self.kind) if self.otherwise is None else self.branch(self.otherwise, scope)
        for condition, value in reversed(self.cases):
            test = self.branch(condition, scope)
            found = choose(test.true, self.branch(value, scope), found)
            found = found._replace(errors=either(found.errors, test.errors))
        return found

    def branch(self, node: Node, scope: Scope) -> Vector:
        """What is evaluated for some answers only; an error that Spark might raise for others is left to it.

        In a filter Spark makes AND and OR of conditionals between booleans, and it evaluates what reads only keys
        before answers are unpacked.
        """
        found = scope.read(node)
        sure = self.kind != "boolean" and any(isinstance(part, Value | Call) for part in walk(node))
        if found.errors is not None and found.errors.any() and not sure:
            raise NeedsSpark("an expression raises an error where it may not be reached")
        return found


def choose(first: np.ndarray, one: Vector, other: Vector) -> Vector:
    """One vector where `first` is true, the other elsewhere, each with what it raises there."""
    if not first.any():
        return other
    values, valid = np.where(first, one.values, other.values), None
    if one.valid is not None or other.valid is not None:
        valid = np.where(first, *(np.True_ if side.valid is None else side.valid for side in (one, other)))
    mine, others = one.errors, other.errors
    return Vector(values, valid, either(mine if mine is None else both(mine, first),
                                        others if others is None else both(others, ~first)))
