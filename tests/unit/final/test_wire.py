"""What leaves a worker keeps what its schema declares: arrays of fixed-width values hold no nulls."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from weft.aggregates.component import FIXED_WIDTH, Component
from weft.final.fold.partition import fold_partition, without_nulls
from weft.model.window import Window
from weft.stages.build import final_stage

WHEN = datetime(2020, 5, 1, tzinfo=UTC)
VALUES = {
    "tinyint": (pa.int8(), 1), "smallint": (pa.int16(), 2), "int": (pa.int32(), 3), "bigint": (pa.int64(), 4),
    "float": (pa.float32(), 1.5), "double": (pa.float64(), 2.5), "boolean": (pa.bool_(), True),
    "date": (pa.date32(), date(2020, 5, 1)), "timestamp": (pa.timestamp("us", "UTC"), WHEN),
    "timestamp_ntz": (pa.timestamp("us"), WHEN.replace(tzinfo=None)), "string": (pa.string(), "a"),
}


def sent(monoid: str, kind: str) -> tuple[pa.Array, pa.Array]:
    """The values and marks that leave for slices of which every second has a null value, or none at all."""
    arrow, value = VALUES[kind]
    values = pa.array([value, None, value, None], arrow)
    orders = pa.array([1, 2, None, 4], pa.int64())
    columns = {"min_by": [values, orders], "max_by": [values, orders], "max": [values], "min": [values]}[monoid]
    component = Component(monoid, tuple(f"c{i}" for i in range(len(columns))), kind)
    stage = final_stage(0, (Window(1, 1), Window(2, 1)), (component,), True, ())
    batch = pa.record_batch([pa.array([0, 1, 2, 3], pa.int64()), *columns], names=list("spq")[: len(columns) + 1])
    table = pa.Table.from_batches(list(fold_partition(stage, [batch])))
    return table.column(table.num_columns - 2), table.column(table.num_columns - 1)


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("monoid", ["min_by", "max_by", "min", "max"])
def test_arrays_declared_without_nulls_hold_none(monoid, kind):
    """Java checks each value that it reads unless it is told not to, and raises at a null it was not told of."""
    values, marks = sent(monoid, kind)
    assert 0 in marks.to_pylist(), "some window has no value"
    held = [value for row, mark in zip(values, marks.to_pylist(), strict=True) if mark for value in row.as_py()]
    assert held
    assert set(held) == {VALUES[kind][1]}
    if kind in FIXED_WIDTH:
        assert all(chunk.values.null_count == 0 for chunk in values.chunks)


@pytest.mark.parametrize("kind", FIXED_WIDTH)
def test_gaps_are_filled_wherever_an_array_begins(kind):
    """A slice of a longer array keeps its values."""
    arrow, value = VALUES[kind]
    found = without_nulls(pa.array([None, value, None, value, None], arrow).slice(1, 3))
    assert found.null_count == 0
    assert [found[0].as_py(), found[2].as_py()] == [value, value]
