"""What expressions are made of: constants, components, keys, calls and the window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weft.final.project.tree import Node, Scope
from weft.final.project.vector import DTYPES, Vector, null


@dataclass(frozen=True, eq=False)
class Literal(Node):
    """A constant; None is the null of its kind."""

    value: bool | int | float | None

    def evaluate(self, scope: Scope) -> Vector:
        """A vector without a dimension."""
        return null(self.kind) if self.value is None else Vector(np.asarray(self.value, DTYPES[self.kind]))


@dataclass(frozen=True, eq=False)
class Value(Node):
    """A field of a component's answers by its name, such as `c1_value`."""

    name: str

    def evaluate(self, scope: Scope) -> Vector:
        """The values as they were folded."""
        return scope.component(self.name, self.kind)


@dataclass(frozen=True, eq=False)
class Key(Node):
    """A key by its place."""

    index: int

    def evaluate(self, scope: Scope) -> Vector:
        """The values of the answers' keys."""
        return scope.key(self.index, self.kind)


@dataclass(frozen=True, eq=False)
class Call(Node):
    """A call of the projection by its place."""

    index: int

    def evaluate(self, scope: Scope) -> Vector:
        """The values of the call's own expression."""
        return scope.call(self.index)


@dataclass(frozen=True, eq=False)
class WindowStart(Node):
    """The time at which the window begins."""


@dataclass(frozen=True, eq=False)
class WindowEnd(Node):
    """The time at which the window is over."""


@dataclass(frozen=True, eq=False)
class WindowStruct(Node):
    """The window itself: a struct of the two times that stand below."""

    start: Node
    end: Node
