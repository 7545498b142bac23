"""What leaves as it came: keys, times and components of any type, only for the answers that pass."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from weft.aggregates.component import ROWS, Component
from weft.aggregates.monoids import choices
from weft.final.project import AnswerColumns, AnswerValues, evaluate
from weft.model.query import Output
from weft.model.stages import AnswerStage
from weft.stages.project import compile_projection

TEXTS = Component(choices.MAX, ("max(s)",), "string")
LISTS = Component(choices.MAX_BY, ("max_by(l, t)", "max(t)"), "array<int>")
SYMBOLS = pa.array(["a", None, "c"])


def output(sql: str, kind: object) -> Output:
    return Output(sql, "o", json.dumps(kind))


def struct_of(kind: str) -> dict:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name in ("start", "end")]
    return {"type": "struct", "fields": fields}


def answers(**values) -> AnswerColumns:
    """Three answers of two windows, whose key is a text."""
    rows = {"c0_value": AnswerValues(np.array([1, 5, 9]))}
    take = lambda places: SYMBOLS if places is None else SYMBOLS.take(pa.array(places))  # noqa: E731
    return AnswerColumns(3, rows | values, [take], np.array([0, 10, 20]), np.array([5, 5, 7]))


def project(outputs, having=None, components=(ROWS,), window="", time="timestamp", **values):
    """What a stage makes of the three answers, after it went to a worker."""
    calls = tuple(f"c{i}_value" for i in range(len(components)))
    stage = AnswerStage((), calls, components, having, tuple(outputs), window)
    projection = compile_projection(stage, ("string",), time, True)
    return [found.to_pylist() for found in evaluate(pickle.loads(pickle.dumps(projection)), answers(**values))]


@pytest.mark.parametrize(("having", "kept"), [(None, [0, 1, 2]), ("__call_0 > 3", [1, 2]), ("__call_0 > 10", []),
                                              ("__key_0 IS NOT NULL", [0, 2]), ("TRUE", [0, 1, 2])])
def test_keys_and_counts(having, kept):
    found = project([output("__key_0", "string"), output("__call_0", "long")], having)
    assert found == [[["a", None, "c"][i] for i in kept], [[1, 5, 9][i] for i in kept]]


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_times(kind):
    """Start, end and the window itself, each window as long as it is."""
    outputs = [output("__window.start", kind), output("`__window`.END", kind), output("__window", struct_of(kind))]
    start, end, window = project(outputs, "__call_0 > 3", time=kind)
    assert [t.microsecond for t in start] == [10, 20] and [t.microsecond for t in end] == [15, 27]
    assert window == [{"start": a, "end": b} for a, b in zip(start, end, strict=True)]
    assert all((t.tzinfo is None) == (kind == "timestamp_ntz") for t in start)


def test_a_window_of_rows_has_its_times_from_components():
    moment = Component(choices.MIN, ("min(t)",), "timestamp")
    held = pa.array([1, 2, 3], pa.timestamp("us", "UTC"))
    (found,) = project([output("__window.end", "timestamp")], "__call_0 < 9", (ROWS, moment),
                       "named_struct('start', c1_value, 'end', c1_value)", c1_value=AnswerValues(held))
    assert [t.microsecond for t in found] == [1, 2]


@pytest.mark.parametrize(("component", "kind", "values"), [
    (TEXTS, "string", pa.array(["x", "y", None])),
    (LISTS, {"type": "array", "elementType": "integer", "containsNull": True},
     pa.array([[1], [], None], pa.list_(pa.int32()))),
])
@pytest.mark.parametrize("having", [None, "__call_0 > 3"])
def test_components_of_any_type_are_passed_on(component, kind, values, having):
    """Null where the mark says so, and where the array itself does."""
    held = AnswerValues(values, np.array([True, False, True]))
    (found, missing) = project([output("__call_1", kind), output("__call_1 IS NULL", "boolean")], having,
                               (ROWS, component), c1_value=held)
    wanted = [values[0].as_py(), None, None][1 if having else 0 :]
    assert found == wanted and missing == [value is None for value in wanted]


def test_nothing_is_copied_that_leaves_as_it_is():
    """A component's own buffer, where every answer passes."""
    values = np.arange(3.0)
    mean = Component(choices.MAX, ("max(x)",), "double")
    stage = AnswerStage((), ("c0_value", "c1_value"), (ROWS, mean), None, (output("__call_1", "double"),))
    projection = compile_projection(stage, ("string",), "timestamp", True)
    (found,) = evaluate(projection, answers(c1_value=AnswerValues(values)))
    assert found.buffers()[1].address == values.ctypes.data
    assert projection.values == ("c0_value", "c1_value") and projection.keys == ()


def test_a_worker_imports_no_sql():
    """What evaluates a projection is imported without Spark and without a parser."""
    code = "import sys, weft.final.project; print(sorted({'pyspark', 'sqlglot', 'pandas'} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
