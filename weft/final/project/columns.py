"""Some of the answers as nodes read them, and what leaves as Arrow arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from weft.final.project.leaves import Call, Key, Value, WindowEnd, WindowStart, WindowStruct
from weft.final.project.projection import AnswerColumns, Projection
from weft.final.project.tree import Node
from weft.final.project.vector import DTYPES, NeedsSpark, Vector, both, from_arrow, to_arrow
from weft.final.project.widened import LongerDecimal

EPOCH = {"timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us")}


class AnswerScope:
    """The answers at `rows`, all where that is None; what was computed for `every` answer is not computed again."""

    def __init__(self, projection: Projection, answers: AnswerColumns, rows: np.ndarray | None = None,
                 every: AnswerScope | None = None):
        self.projection, self.answers, self.rows, self.every = projection, answers, rows, every
        self.size = answers.size if rows is None else len(rows)
        self.known: dict[int, Vector] = {}

    def read(self, node: Node) -> Vector:
        """The values of a node, computed once."""
        found = self.known.get(id(node))
        if found is None:
            before = self.every.known.get(id(node)) if self.every else None
            found = before.take(self.rows) if before is not None and self.rows is not None else node.evaluate(self)
            self.known[id(node)] = found
        return found

    def component(self, name: str, kind: str) -> Vector:
        """The values of a component."""
        values, valid = self.answers.values[name]
        if isinstance(values, np.ndarray):
            return self.here(Vector(values.astype(DTYPES[kind], copy=False), valid))
        found = from_arrow(values, kind)
        return self.here(found._replace(valid=both(found.valid, valid)))

    def key(self, index: int, kind: str) -> Vector:
        """The values of a key."""
        return from_arrow(self.answers.keys[index](self.rows), kind)

    def call(self, index: int) -> Vector:
        """The values of a call. Spark may compute it wherever it is read, so it must not raise anywhere."""
        return require_sound(self.read(self.projection.calls[index]))

    def present(self, node: Node) -> Vector:
        """Which values are not null, of a node of any kind."""
        node = self.called(node)
        if node.kind in DTYPES:
            found = self.read(node)
            return Vector(np.ones((), np.bool_) if found.valid is None else np.asarray(found.valid), None, found.errors)
        return Vector(self.output(node).is_valid().to_numpy(zero_copy_only=False))

    def array(self, node: Node) -> pa.Array:
        """The values of a node that is only passed on, as they came."""
        return self.output(node)

    def here(self, vector: Vector) -> Vector:
        """A vector of all answers, for those of this scope."""
        return vector if self.rows is None else vector.take(self.rows)

    def called(self, node: Node) -> Node:
        """The expression that a call stands for."""
        return self.projection.calls[node.index] if isinstance(node, Call) else node

    def output(self, node: Node) -> pa.Array:
        """A node's values as they leave: keys, components and times as they are, all else as it is computed."""
        node = self.called(node)
        if isinstance(node, Key):
            return self.answers.keys[node.index](self.rows)
        if isinstance(node, WindowStart | WindowEnd):
            return self.time(node)
        if isinstance(node, WindowStruct):
            return pa.StructArray.from_arrays([self.output(node.start), self.output(node.end)], ["start", "end"])
        if isinstance(node, Value) and node.kind not in DTYPES:
            return self.passed_on(node.name)
        if isinstance(node, LongerDecimal):
            return node.array(self)
        return to_arrow(require_sound(self.read(node)), node.kind, self.size)

    def time(self, node: Node) -> pa.Array:
        """When the windows begin or end."""
        start, length = self.answers.start, self.answers.range
        assert start is not None
        at = start if isinstance(node, WindowStart) else start + length
        return pa.array(at if self.rows is None else at[self.rows], pa.int64()).view(EPOCH[node.kind])

    def passed_on(self, name: str) -> pa.Array:
        """A component's values as they came, null where they are not there."""
        values, valid = self.answers.values[name]
        if valid is None:
            return values if self.rows is None else values.take(pa.array(self.rows))
        rows = np.arange(self.size) if self.rows is None else self.rows
        return values.take(pa.array(rows, mask=~valid[rows]))


def require_sound(vector: Vector) -> Vector:
    """The vector, if computing it raises no error."""
    if vector.errors is not None and vector.errors.any():
        raise NeedsSpark("an expression raises an error: a division by zero, or an integer that does not fit its type")
    return vector
