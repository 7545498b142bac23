"""Comparisons of texts with constants, byte by byte, as Spark compares texts of its default collation."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from weft.aggregates.monoids.lanes import validity
from weft.final.project.tree import Node, Scope
from weft.final.project.vector import Vector

COMPARE = {"=": pc.equal, "<>": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater,
           ">=": pc.greater_equal}


@dataclass(frozen=True, eq=False)
class CompareText(Node):
    """`=`, `<>`, `<`, `<=`, `>`, `>=` of a text that is only passed on, and a constant."""

    sign: str
    text: Node
    constant: str

    def evaluate(self, scope: Scope) -> Vector:
        """Null where the text is; texts that come as places in a dictionary are compared once each."""
        found = scope.array(self.text)
        if isinstance(found, pa.DictionaryArray):
            same = COMPARE[self.sign](found.dictionary, self.constant).take(found.indices)
        else:
            same = COMPARE[self.sign](found, self.constant)
        return Vector(same.fill_null(False).to_numpy(zero_copy_only=False), validity(same))
