"""Marks of rows as expressions that workers evaluate."""

from __future__ import annotations

import re
from itertools import pairwise

from weft.final.project.marks import MarkBits, ScalePlace
from weft.final.project.tree import Node
from weft.model.marks import Marking, Scale
from weft.stages.project.coercion import NotCoveredError, truth
from weft.stages.project.compiler import Compiler

INTEGER, NUMBER = re.compile(r"-?\d{1,18}"), re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def compile_marks(compiler: Compiler, marking: Marking) -> tuple[Node, ...]:
    """The marks of a marking; raises NotCoveredError where only Spark can make them."""
    fields: list[list[tuple[Node, int]]] = [[] for _ in range(marking.size)]
    for what, mark, shift, _ in marking.fields:
        node = place_on(compiler, what) if isinstance(what, Scale) else truth(compiler.compile(what))
        fields[mark].append((node, shift))
    return tuple(MarkBits("bigint", tuple(found)) for found in fields)


def place_on(compiler: Compiler, scale: Scale) -> Node:
    """The place of an expression on a scale, if both are numbers that compare as they lie in memory."""
    value = compiler.compile(scale.expression)
    wanted = {"int": INTEGER, "bigint": INTEGER, "double": NUMBER}.get(value.kind)
    if wanted is None or not all(wanted.fullmatch(number) for number in scale.numbers):
        raise NotCoveredError(f"{scale.expression} of type {value.kind} beside {', '.join(scale.numbers)}")
    numbers = tuple(map(float if value.kind == "double" else int, scale.numbers))
    if any(a >= b for a, b in pairwise(numbers)) or (value.kind == "int" and max(map(abs, numbers)) >= 2**31):
        raise NotCoveredError(f"numbers that {value.kind} does not tell apart: {', '.join(scale.numbers)}")
    return ScalePlace("bigint", value, numbers, scale.equalities)
