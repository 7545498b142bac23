"""Marks that workers compute: they tell for each row which predicates it passes, as the predicates themselves do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.projection_oracle import value_of
from tests.strategies.projections import COLUMNS, answers_of, awkward_rows
from weft.final.fold.partition import passing_slices
from weft.final.project import AnswerColumns, NeedsSpark, Projection, evaluate
from weft.final.project.leaves import Value
from weft.model.marks import Field, Marking, Scale
from weft.optimize.marks import mark
from weft.stages.project.coercion import NotCoveredError
from weft.stages.project.compiler import Compiler
from weft.stages.project.marks import compile_marks

ROWS = awkward_rows(200)
NODES = {name: Value(kind, f"c{i}_value") for i, (name, (kind, _, _)) in enumerate(COLUMNS.items())}
NUMBERS = {"x": ("0", "1.5", "-2", "3", "0.1", "7", "1e3"), "i": ("0", "1", "-1", "7", "100", "-3"),
           "n": ("0", "1", "10", "-12345678901", "3037000500")}
comparisons = st.sampled_from(sorted(NUMBERS)).flatmap(lambda column: st.builds(
    f"{column} {{}} {{}}".format, st.sampled_from(["<", "<=", "=", ">=", ">"]), st.sampled_from(NUMBERS[column])))
predicates = st.one_of(comparisons, comparisons, st.builds("{} AND {}".format, comparisons, comparisons),
                       st.sampled_from(["s = 'a'", "b", "x IN (1.5, 3)", "i % 2 = 1", "x > y"]))


def marks_of(marking: Marking, rows: AnswerColumns) -> list[np.ndarray]:
    """The marks of rows."""
    nodes = compile_marks(Compiler(NODES, False), marking)
    return [array.to_numpy() for array in evaluate(Projection((), None, nodes), rows)]


@given(st.lists(predicates, min_size=1, max_size=12, unique=True))
def test_marks_tell_the_predicates_that_rows_pass(texts):
    """Scales, equalities and single conditions, with nulls, NaN, both zeros and infinities among the rows."""
    marking, rows = mark(tuple(texts)), answers_of(ROWS)
    marks = marks_of(marking, rows)
    held = [{f"c{i}_value": ROWS.column(i + 1)[row].as_py() for i in range(len(COLUMNS))} for row in range(len(ROWS))]
    for number, text in enumerate(texts):
        node = Compiler(NODES, False).compile(text)
        passed = [value_of(node, row) is True for row in held]
        assert passing_slices(marking.tests[number], marks, {}).tolist() == passed, text


@pytest.mark.parametrize(("what", "reason"), [
    (Scale("i", ("1.5", "2")), "i of type int beside 1.5, 2"),
    (Scale("i", ("1", "3000000000")), "numbers that int does not tell apart: 1, 3000000000"),
    (Scale("x", ("0.1", "0.10000000000000000001")), "numbers that double does not tell apart: "
                                                   "0.1, 0.10000000000000000001"),
    (Scale("s", ("1", "2")), "s of type string beside 1, 2"),
    ("upper(s) = 'A'", "the function upper of 1 arguments"),
])
def test_marks_that_only_spark_makes(what, reason):
    with pytest.raises(NotCoveredError) as found:
        compile_marks(Compiler(NODES, False), Marking((Field(what, 0, 0, 1),)))
    assert str(found.value) == reason


def test_a_condition_that_raises_is_left_to_spark():
    with pytest.raises(NeedsSpark):
        nodes = compile_marks(Compiler(NODES, True), mark(("1 / i > 0",)))
        evaluate(Projection((), None, nodes), answers_of(ROWS))
