"""Random SQL over answers: typed expressions of every kind that workers evaluate, and columns of awkward values."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from weft.aggregates.component import Component
from weft.aggregates.monoids import choices, sums
from weft.final.project import AnswerColumns, AnswerValues
from weft.model.query import Output
from weft.model.stages import AnswerStage

LEAST, MOST = -(2**63), 2**63 - 1
DOUBLES = (None, float("nan"), 0.0, -0.0, float("inf"), float("-inf"), 1.5, -2.0, 5e-324, 1.7976931348623157e308,
           1e-200, 0.1, 3.0, 9007199254740993.0, -7.25)
INTS = (None, 0, 1, -1, 7, 2**31 - 1, -(2**31), 100, -3)
LONGS = (None, 0, 1, -1, 2**53 + 1, MOST, LEAST, 10, -12345678901, 3037000500)
BOOLEANS = (None, True, False)
TEXTS = (None, "", "a", "A", "aa", "b", "é", "日本", "a ")
# The columns in order: their types in Spark, how Arrow has them, and what they may hold.
COLUMNS = {"x": ("double", pa.float64(), DOUBLES), "y": ("double", pa.float64(), DOUBLES),
           "i": ("int", pa.int32(), INTS), "j": ("int", pa.int32(), INTS),
           "n": ("bigint", pa.int64(), LONGS), "m": ("bigint", pa.int64(), LONGS),
           "b": ("boolean", pa.bool_(), BOOLEANS), "c": ("boolean", pa.bool_(), BOOLEANS),
           "s": ("string", pa.string(), TEXTS)}
CALLED = {name: f"__call_{place}" for place, name in enumerate(COLUMNS)}
SIGNS = ("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>")
LITERALS = ("0", "1", "2", "7", "-3", "1.5", "0.002", "-2.5", "0.0", "3D", "0D", "-0.0D", "5L", "6e7", "100")


def awkward_rows(size: int, seed: int = 7) -> pa.Table:
    """Rows of awkward values in random pairs, with their number as `id`."""
    draw = np.random.default_rng(seed)
    columns = {CALLED[name]: pa.array([held[k] for k in draw.integers(0, len(held), size)], kind)
               for name, (_, kind, held) in COLUMNS.items()}
    return pa.table({"id": pa.array(range(size), pa.int64()), **columns})


def components() -> tuple[Component, ...]:
    """Components whose answers have the columns' types."""
    monoid = {"double": sums.SUM, "bigint": sums.SUM}
    return tuple(Component(monoid.get(kind, choices.MAX), (f"any({name})",), kind)
                 for name, (kind, _, _) in COLUMNS.items())


def stage_of(outputs: list[tuple[str, object]], having: str | None = None) -> AnswerStage:
    """The answer stage of some expressions with their types in Spark's JSON, whose calls are the columns."""
    made = tuple(Output(sql, f"o{i}", json.dumps(kind)) for i, (sql, kind) in enumerate(outputs))
    return AnswerStage((), tuple(f"c{i}_value" for i in range(len(COLUMNS))), components(), having, made)


def answers_of(rows: pa.Table) -> AnswerColumns:
    """The rows as answers."""
    values = {f"c{i}_value": AnswerValues(rows[name].combine_chunks()) for i, name in enumerate(CALLED.values())}
    return AnswerColumns(rows.num_rows, values)


# What an expression is made of: `{n}` stands for a number, `{i}` for an integer, `{t}` for a truth value.
NUMBERS = (*(f"({{n}} {sign} {{n}})" for sign in "+-*/%"), "(- {n})", "abs({n})", "sqrt({n})", "CAST({n} AS DOUBLE)",
           "coalesce({n}, {n})", "nvl({n}, {n})", "ifnull({n}, {n})", "nullif({n}, {n})", "if({t}, {n}, {n})",
           "if({t}, NULL, {n})", "CASE WHEN {t} THEN {n} WHEN {t} THEN {n} END",
           "CASE {n} WHEN {n} THEN {n} ELSE {n} END", "({i} & {i})", "({i} | {i})", "({i} ^ {i})", "(~ {i})",
           "shiftleft({i}, {i})", "shiftright({i}, {i})")
TRUTHS = (*(f"({{n}} {sign} {{n}})" for sign in SIGNS),
          *(f"({{t}} {sign} {{t}})" for sign in ("AND", "OR", "=", "<=>")),
          "(NOT {t})", "({n} IS NULL)", "({t} IS NOT NULL)", "({n} BETWEEN {n} AND {n})", "if({t}, {t}, {t})",
          "coalesce({t}, {t})", "({n} IS DISTINCT FROM {n})", "({n} IN ({n}, {n}, NULL))", "({n} NOT IN ({n}, {n}))",
          *(f"({CALLED['s']} {sign} '{text}')"
            for sign, text in zip(SIGNS[:-1], ("a", "b", "", "é", "A", "aa", "z", "日"), strict=True)),
          f"({CALLED['s']} IN ('a', 'b', 'aa'))", f"('a' < {CALLED['s']})", f"({CALLED['s']} BETWEEN 'A' AND 'b')")
LEAVES = {"n": (*(CALLED[name] for name in 3 * "xyijnm"), *LITERALS),
          "i": (*(CALLED[name] for name in "ijnm"), "3", "-1", "40L"),
          "t": (*(CALLED[name] for name in 4 * "bc"), "TRUE", "FALSE")}


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> str:
    """A number or a truth value."""
    return fill(draw, draw(st.sampled_from((*NUMBERS, *TRUTHS))), depth)


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> str:
    """A truth value."""
    return fill(draw, draw(st.sampled_from(TRUTHS)), depth)


def fill(draw: st.DrawFn, template: str, depth: int) -> str:
    """The template with expressions in its places, deeper and deeper up to a depth."""
    parts = re.split(r"\{([nti])\}", template)
    for i in range(1, len(parts), 2):
        inner = {"n": NUMBERS, "t": TRUTHS}.get(parts[i])
        deeper = inner if inner and depth > 1 and draw(st.booleans()) else LEAVES[parts[i]]
        parts[i] = fill(draw, draw(st.sampled_from(deeper)), depth - 1)
    return "".join(parts)
