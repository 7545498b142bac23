"""Which answer stages a worker can project by itself: the stage's SQL as a tree that evaluates as Spark does."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.final.project import Projection
from weft.final.project.leaves import Call, Key, Value, WindowEnd, WindowStart, WindowStruct
from weft.final.project.tree import Node
from weft.model.query import CALL, KEY, WINDOW, Output
from weft.model.stages import AnswerStage
from weft.stages.build import value_column
from weft.stages.project.coercion import Exact, NotCoveredError
from weft.stages.project.compiler import Compiler
from weft.stages.project.decimals import Scaled

# The names in Spark's JSON that differ from those of simpleString.
SIMPLE = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
# The window of rows, as `lower_times` of weft.aggregates.times has it over components.
ROW_WINDOW = re.compile(r"named_struct\('start', (\w+), 'end', (\w+)\)")


@dataclass(frozen=True)
class NotCovered:
    """An answer stage that only Spark can project, and why."""

    reason: str


def compile_projection(stage: AnswerStage, key_types: Sequence[str], time_type: str,
                       ansi: bool) -> Projection | NotCovered:
    """The projection of an answer stage for workers, or why there is none.

    `key_types` and `time_type` are the partial stage's, as simpleString; `ansi` says whether overflow and division by
    zero raise.
    """
    try:
        return _compile(stage, key_types, time_type, ansi)
    except NotCoveredError as error:
        return NotCovered(str(error))


def _compile(stage: AnswerStage, key_types: Sequence[str], time_type: str, ansi: bool) -> Projection:
    values = {value_column(i, field): Value(component.type, value_column(i, field))
              for i, component in enumerate(stage.components) for field in component.fields}
    over_answers = Compiler(values, ansi)
    calls = tuple(require_value(over_answers.compile(sql), sql) for sql in stage.calls)
    columns: dict[str, Node] = {KEY.format(i): Key(kind, i) for i, kind in enumerate(key_types)}
    columns |= {CALL.format(i): Call(call.kind, i) for i, call in enumerate(calls)}
    window = window_node(stage.window, over_answers, time_type)
    outer = Compiler(columns | ({WINDOW: window} if window else {}), ansi)
    having = outer.compile(stage.having) if stage.having else None
    if having is not None and having.kind != "boolean":
        raise NotCoveredError(f"HAVING of type {having.kind}")
    return Projection(calls, having, tuple(compile_output(outer, output) for output in stage.outputs))


def require_value(node: Node, sql: str) -> Node:
    """A node that has values of its own: no decimal made of literals, and no bare NULL."""
    if isinstance(node, Exact | Scaled) or node.kind == "void":
        raise NotCoveredError(f"'{sql}' of type {node.kind}")
    return node


def compile_output(compiler: Compiler, output: Output) -> Node:
    """An output, if it has the type that Spark's analyser gave it."""
    node = require_value(compiler.compile(output.sql), output.sql)
    wanted = simple_string(json.loads(output.type)) if output.type else "unknown"
    if node.kind != wanted:
        raise NotCoveredError(f"'{output.sql}' of type {node.kind}, which Spark gives as {wanted}")
    return node


def window_node(sql: str, over_answers: Compiler, time_type: str) -> WindowStruct | None:
    """The window: its times as slices tell them, or those that components hold; None where nobody asks for it."""
    if not sql:
        kind = "timestamp_ntz" if time_type == "timestamp_ntz" else "timestamp"
        return window_struct(WindowStart(kind), WindowEnd(kind))
    found = ROW_WINDOW.fullmatch(sql)
    return window_struct(*(over_answers.compile(name) for name in found.groups())) if found else None


def window_struct(start: Node, end: Node) -> WindowStruct:
    """A window of two times."""
    return WindowStruct(f"struct<start:{start.kind},end:{end.kind}>", start, end)


def simple_string(kind: Any) -> str:
    """The simpleString of a type in Spark's JSON, whatever may be null in it."""
    if isinstance(kind, str):
        return SIMPLE.get(kind, kind)
    if kind["type"] == "array":
        return f"array<{simple_string(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{simple_string(kind['keyType'])},{simple_string(kind['valueType'])}>"
    if kind["type"] == "struct":
        fields = (f"{field['name']}:{simple_string(field['type'])}" for field in kind["fields"])
        return f"struct<{','.join(fields)}>"
    raise NotCoveredError(f"a type of the user's own, {kind.get('class', kind['type'])}")
