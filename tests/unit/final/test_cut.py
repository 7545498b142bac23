"""Rows to slices in a worker, against a loop over rows: nulls, filters, marks, any order of time, derived keys."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.aggregates.base import Argument
from weft.aggregates.component import ROWS
from weft.aggregates.count_sum_avg import summed
from weft.aggregates.min_max import lower_max, lower_max_by, lower_min_by
from weft.aggregates.moments import comoments, moments
from weft.final.cut import ComputedColumns, GroupingCut, RowColumns, RowCut, RowCutter
from weft.final.cut.groupings import NONE
from weft.final.project.arithmetic import Quotient
from weft.final.project.leaves import Literal, Value
from weft.final.state.form import SliceForm, from_bytes

X, BY = Argument("x", "double"), Argument("by", "bigint")
COMPONENTS = (ROWS, summed(X, ""), *lower_max((X,), "").components, *lower_min_by((X, BY), "").components,
              *lower_max_by((X, BY), "").components)
# The column of rows that each column of slices is made of, and whether it counts.
VALUES = ((None, False), ("x", False), ("x", False), ("x", False), ("by", False), ("x", False), ("by", False))
NOTHING = ComputedColumns((), ())


def form_of(components, keys=1, marks=0, cut=((0, 10),)) -> SliceForm:
    """The form of slices with these components, each with columns of its own."""
    merging, place = [], 0
    for component in components:
        width = len(component.columns)
        merging.append((component, tuple(range(place, place + width))))
        place += width
    names = [f"{letter}{i}" for letter, count in (("m", marks), ("v", place)) for i in range(count)]
    names = (*(f"k{i}" for i in range(keys)), "slice", *names)
    return SliceForm(keys, marks, cut, tuple(merging), True, names)


def row_cut(form: SliceForm, **changes) -> RowCut:
    """A cut of rows `t`, `k`, `x`, `by` by one key, for a grouping of three buckets."""
    made = RowCut(form, RowColumns("t", ("k",), (), VALUES), (GroupingCut(0, form, (5, 6, 7), False),))
    groupings = changes.pop("groupings", made.groupings)
    return replace(made, rows=replace(made.rows, **changes), groupings=groupings)


def cut_all(cut: RowCut, table: pa.Table, computed=NOTHING, batch: int = 3) -> dict[int, list[dict]]:
    """The slices that come out, by grouping, after all buckets are put together."""
    found: dict[int, list[dict]] = {}
    for packed in RowCutter((cut,), computed)(iter(table.to_batches(max_chunksize=batch))):
        for number, data in zip(packed["grouping"].to_pylist(), packed["slices"].to_pylist(), strict=True):
            found.setdefault(number, []).extend(from_bytes(data).to_pylist())
    return found


rows = st.lists(st.tuples(
    st.integers(-30, 60), st.sampled_from(["a", "b", None]),
    st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.5, -2.25, math.nan, math.inf])),
    st.one_of(st.none(), st.integers(-3, 3)), st.booleans()), min_size=1, max_size=40)


def to_table(drawn) -> pa.Table:
    """Drawn rows as the table that workers get."""
    t, k, x, by, keep = zip(*drawn, strict=True)
    return pa.table({"t": pa.array(t, pa.int64()), "k": pa.array(k, pa.string()), "x": pa.array(x, pa.float64()),
                     "by": pa.array(by, pa.int64()), "keep": pa.array(keep, pa.bool_())})


def greatest(values):
    """The greatest value as Spark orders them: NaN is above all."""
    return max(values, key=lambda v: (math.isnan(v), v)) if values else None


def same(one, other) -> bool:
    """Whether two values are the same, NaN being itself."""
    if one is None or other is None or not isinstance(one, float):
        return one == other
    return one == other or (math.isnan(one) and math.isnan(other))


@given(rows, st.booleans())
def test_slices_are_those_of_a_loop_over_rows(drawn, filtered):
    """Counts, sums, maxima and the values at the least and the greatest order, with and without a filter."""
    form = form_of(COMPONENTS)
    found = cut_all(row_cut(form, keep="keep" if filtered else None), to_table(drawn))
    slices = {(s["k0"], s["slice"]): s for s in found.get(0, [])}
    groups: dict = {}
    for t, k, x, by, keep in drawn:
        if keep or not filtered:
            groups.setdefault((k, t - t % 10), []).append((x, by))
    assert set(slices) == set(groups)
    for group, held in groups.items():
        here, values = slices[group], [x for x, _ in held if x is not None]
        assert here["v0"] == len(held)
        assert same(here["v1"], math.fsum(values) if all(map(math.isfinite, values)) and values else
                    (sum(values) if values else None))
        assert same(here["v2"], greatest(values))
        orders = [by for _, by in held if by is not None]
        assert (here["v4"], here["v6"]) == ((min(orders), max(orders)) if orders else (None, None))
        if orders:
            assert any(same(here["v3"], x) for x, by in held if by == min(orders))
            assert any(same(here["v5"], x) for x, by in held if by == max(orders))


def test_a_sum_of_minus_zero_is_zero():
    """As Spark has it, for a slice of one row too."""
    table = to_table([(1, "a", -0.0, 1, True)])
    [found] = cut_all(row_cut(form_of(COMPONENTS)), table)[0]
    assert math.copysign(1, found["v1"]) == 1.0


@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from("ab"), st.sampled_from([0, 1, 2, 3]), st.integers(0, 9)),
                min_size=1, max_size=40), st.booleans())
def test_marks_keep_slices_apart(drawn, marked_only):
    """Rows of a slice that pass other predicates make another slice; without a mark they may not count at all."""
    t, k, mark, x = zip(*drawn, strict=True)
    table = pa.table({"t": pa.array(t, pa.int64()), "k": pa.array(k), "mark": pa.array(mark, pa.int64()),
                      "x": pa.array(map(float, x), pa.float64())})
    form = form_of((ROWS, summed(X, "")), marks=1)
    rows = RowColumns("t", ("k",), ("mark",), ((None, False), ("x", False)), None, marked_only)
    cut = RowCut(form, rows, (GroupingCut(0, form, (1,), False),))
    expected: dict = {}
    for at, key, bits, value in drawn:
        if bits or not marked_only:
            count, total = expected.get((key, at - at % 10, bits), (0, 0.0))
            expected[key, at - at % 10, bits] = (count + 1, total + value)
    found = cut_all(cut, table, batch=1000).get(0, [])
    assert {(s["k0"], s["slice"], s["m0"]): (s["v0"], s["v1"]) for s in found} == expected


@given(rows)
def test_a_derived_grouping_has_fewer_keys_and_longer_slices(drawn):
    """It is made of the scan's slices, and holds as many rows."""
    form = form_of((ROWS,), cut=((0, 10),))
    coarse = SliceForm(0, 0, ((0, 40),), form.merging, True, ("slice", "v0"))
    cut = row_cut(form, values=VALUES[:1], groupings=(GroupingCut(3, coarse, (9,), True),))
    expected: dict = {}
    for t, *_ in drawn:
        expected[t - t % 40] = expected.get(t - t % 40, 0) + 1
    assert {s["slice"]: s["v0"] for s in cut_all(cut, to_table(drawn), batch=1000)[3]} == expected


@pytest.mark.parametrize("order", [2, 3, 4])
def test_moments_of_rows(order):
    """Two passes over a run give what NumPy gives; a run of equal values has exactly no spread."""
    x = np.concatenate([np.full(7, 0.1), 1e3 + np.random.default_rng(order).normal(size=93)])
    table = pa.table({"t": pa.array([5] * 7 + [15] * 93, pa.int64()), "k": ["a"] * 100, "x": x})
    form = form_of((moments(X, "", order),))
    values = (("x", True), ("x", False), *[("x", False)] * (order - 1))
    still, spread = cut_all(row_cut(form, values=values), table, batch=1000)[0]
    assert (still["v0"], still["v1"], *(still[f"v{i}"] for i in range(2, order + 1))) == (7, 0.1, *[0.0] * (order - 1))
    apart = x[7:] - x[7:].mean()
    assert [spread[f"v{i}"] for i in range(2, order + 1)] == pytest.approx(
        [(apart**power).sum() for power in range(2, order + 1)], rel=1e-6)


def test_comoments_of_rows():
    """Means and second moments of pairs."""
    x, y = np.random.default_rng(5).normal(size=(2, 50))
    table = pa.table({"t": pa.array([5] * 50, pa.int64()), "k": ["a"] * 50, "x": x, "y": y})
    form = form_of((comoments((X, Argument("y", "double")), ""),))
    values = (("x", True), ("x", False), ("y", False), *[("x", False)] * 3)
    [found] = cut_all(row_cut(form, values=values), table, batch=1000)[0]
    apart = x - x.mean(), y - y.mean()
    products = [(a * b).sum() for a, b in (apart, (apart[0],) * 2, (apart[1],) * 2)]
    assert [found[f"v{i}"] for i in range(6)] == pytest.approx([50, x.mean(), y.mean(), *products])


def test_workers_give_up_where_spark_raises():
    """A row on which an expression raises an error leaves everything to Spark, with the reason."""
    node = Quotient("double", "/", Value("double", "x"), Literal("double", 0.0), True)
    [packed] = list(RowCutter((row_cut(form_of(COMPONENTS)),), ComputedColumns(("y",), (node,)))(
        iter(to_table([(1, "a", 1.0, 1, True)]).to_batches())))
    assert packed["grouping"].to_pylist() == [NONE]
    assert b"raises an error" in packed["slices"].to_pylist()[0]


def test_a_sum_that_does_not_fit_leaves_rows_unmerged():
    """The fold then finds out what Spark raises."""
    big = Argument("by", "bigint")
    form = form_of((ROWS, summed(big, "")))
    cut = row_cut(form, values=((None, False), ("by", False)))
    table = to_table([(1, "a", 1.0, 2**62, True)] * 3)
    assert [s["v1"] for s in cut_all(cut, table, batch=1000)[0]] == [2**62] * 3
