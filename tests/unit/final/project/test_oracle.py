"""Random projections against the plain oracle: whatever is covered equals it on every row, bit by bit."""

from __future__ import annotations

import struct

from hypothesis import assume, given

from tests.harness.projection_oracle import RaisedError, value_of
from tests.strategies.projections import CALLED, answers_of, awkward_rows, conditions, expressions, stage_of
from weft.final.project import NeedsSpark, Projection, evaluate
from weft.stages.project import compile_projection

ROWS = awkward_rows(40)
NAMES = {f"c{i}_value": name for i, name in enumerate(CALLED.values())}
JSON = {"boolean": "boolean", "int": "integer", "bigint": "long", "double": "double"}


def compiled(sql: str, ansi: bool, having: str | None = None) -> Projection:
    """The projection of one expression, whatever its type; other examples are drawn where it is not covered."""
    for kind in JSON.values():
        found = compile_projection(stage_of([(sql, kind)], having), (), "timestamp", ansi)
        if isinstance(found, Projection):
            return found
    assume(False)
    raise AssertionError


def row_of(place: int, rows=ROWS):
    """A row of the table by the names of components' values."""
    return {value: rows[name][place].as_py() for value, name in NAMES.items()}


def bits(value):
    """What tells doubles apart bit by bit, but not two NaNs."""
    return ("NaN" if value != value else struct.pack("d", value)) if isinstance(value, float) else value


def expected(node, place):
    """The oracle's value, or that it raises."""
    try:
        return bits(value_of(node, row_of(place)))
    except RaisedError:
        return RaisedError


@given(sql=expressions())
def test_equals_the_oracle(sql):
    """Without ANSI, where nothing raises but what needs more digits than a long has."""
    projection = compiled(sql, ansi=False)
    try:
        (found,) = evaluate(projection, answers_of(ROWS))
    except NeedsSpark:
        assert RaisedError in [expected(projection.outputs[0], i) for i in range(ROWS.num_rows)]
        return
    assert [bits(v) for v in found.to_pylist()] == [expected(projection.outputs[0], i) for i in range(ROWS.num_rows)]


@given(sql=expressions())
def test_needs_spark_wherever_the_oracle_raises(sql):
    """Row by row under ANSI; it may need Spark elsewhere too."""
    projection = compiled(sql, ansi=True)
    for i in range(ROWS.num_rows):
        wanted = expected(projection.outputs[0], i)
        try:
            found = bits(evaluate(projection, answers_of(ROWS.slice(i, 1)))[0][0].as_py())
        except NeedsSpark:
            continue
        assert found == wanted


@given(having=conditions(), sql=expressions(2))
def test_outputs_are_those_of_what_passes(having, sql):
    """The outputs of the rows for which HAVING is true."""
    projection = compiled(sql, False, having)
    try:
        (found,) = evaluate(projection, answers_of(ROWS))
    except NeedsSpark:
        assume(False)
    passed = [i for i in range(ROWS.num_rows) if value_of(projection.having, row_of(i)) is True]
    assert [bits(v) for v in found.to_pylist()] == [expected(projection.outputs[0], i) for i in passed]
