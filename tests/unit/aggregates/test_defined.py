"""User-defined aggregates: types, adapters, SQL of the slices, the chooser, and every kernel against recalc."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from tests.strategies.aggregates import Longest, Parity, Spread, Weighted
from weft import RefusedError, TrackClusterCenters
from weft.aggregates import Argument, UnsupportedType
from weft.aggregates.component import ROWS, Component
from weft.aggregates.ddl import arrow_type, spelled
from weft.aggregates.defined import define, lower_defined
from weft.aggregates.examples import example_columns
from weft.aggregates.laws import equal, value_at
from weft.aggregates.monoids import Monoid
from weft.errors import PlanError
from weft.final.algorithms import ALGORITHMS, recalc
from weft.final.choose import UNCOMPILED, assign, folding, forced_pairs
from weft.final.fold.partition import fold_partition
from weft.model.window import Window
from weft.sql import SourceSchema, parse_query
from weft.stages.build import final_stage

ANCHORS = [(0.0, 0.0), (50.0, 3.0), (100.0, 1.0)]
ALL = (Spread(), Weighted(), Parity(), Longest(), TrackClusterCenters(ANCHORS))
X, N = Argument("x", "double"), Argument("n", "bigint")


@pytest.mark.parametrize(("text", "spelling", "kind"), [
    ("DOUBLE", "double", pa.float64()),
    ("long", "bigint", pa.int64()),
    ("decimal", "decimal(10,0)", pa.decimal128(10, 0)),
    ("Decimal(12, 3)", "decimal(12,3)", pa.decimal128(12, 3)),
    ("array< int >", "array<int>", pa.list_(pa.int32())),
    ("struct<a: int, B array<struct<c:string,d:decimal(4,1)>>>",
     "struct<a:int,B:array<struct<c:string,d:decimal(4,1)>>>", None),
])
def test_types_are_read_as_spark_spells_them(text, spelling, kind):
    assert spelled(text) == spelling
    assert kind is None or arrow_type(text) == kind


def test_slices_collect_rows_of_one_or_more_arguments():
    one = lower_defined(define(Spread()), (X,), "").components[0]
    assert one.columns == ("collect_list(x)",) and (one.monoid.name, one.type) == ("spread", "double")
    assert str(one) == "spread(x)"
    two = lower_defined(define(TrackClusterCenters(ANCHORS)), (X, Argument("i", "int")), "").components[0]
    assert two.columns == ("collect_list(CASE WHEN ((x) IS NOT NULL) AND ((CAST(i AS DOUBLE)) IS NOT NULL) "
                           "THEN named_struct('a0', x, 'a1', CAST(i AS DOUBLE)) END)",)


def test_partials_are_spark_s_own_aggregates_and_are_shared():
    class Total(Spread):
        name, partials = "total", ("sum({0})",)

    assert lower_defined(define(Total()), (X,), "").components[0].columns == ("sum(x)",)
    guarded = lower_defined(define(Total()), (X,), " FILTER (WHERE n > 1)").components[0]
    assert guarded.columns == ("sum(CASE WHEN (n > 1) THEN x END)",)
    both = lower_defined(define(Weighted()), (X, N), "").components[0].columns
    assert both[0] == "sum(CASE WHEN ((n) IS NOT NULL) THEN x END * CASE WHEN ((x) IS NOT NULL) THEN n END)"


def test_arguments_of_other_types_are_refused_with_a_cast():
    with pytest.raises(UnsupportedType) as raised:
        lower_defined(define(Spread()), (Argument("s", "string"),), "")
    assert str(raised.value) == "string, where it takes double," and raised.value.hint == "Cast it: CAST(s AS DOUBLE)."


@pytest.mark.parametrize("aggregate", ALL, ids=lambda a: a.name)
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.card.name)
def test_every_kernel_folds_as_recalc_or_says_why_not(aggregate, algorithm):
    definition = define(aggregate)
    operation, lengths, size = definition.operation, [1, 2, 5, 13, 40], 90
    refused = algorithm.supports(operation, definition.types, [3])
    if refused:
        assert refused.startswith(algorithm.card.title)
        return
    rows = definition.state_of(example_columns(definition, size + lengths[-1] + 1))
    cells = operation.empty(definition.types, len(rows[0]))
    some = np.flatnonzero(np.arange(len(rows[0])) % 4 > 0)
    for target, value in zip(cells, rows, strict=True):
        target[some] = value[some]
    both = (member.slide(operation, cells, lengths, size) for member in (algorithm, recalc))
    for mine, want in zip(*both, strict=True):
        assert tuple(a.dtype for a in mine) == definition.types
        assert all(equal(value_at(mine, i), value_at(want, i), rounding=1e-12) for i in range(size))


def test_the_algebra_decides_which_kernels_may_fold():
    legal = {a.name: {k.card.name for k in UNCOMPILED if k.supports(define(a).operation, define(a).types, [9]) is None}
             for a in ALL}
    assert "prefix" in legal["parity"] and "doubling" not in legal["parity"]
    assert "doubling" in legal["spread"] and "prefix" not in legal["spread"]
    assert legal["weighted"] == legal["track_cluster_centers"] == {"chain", "binary", "disjoint", "block", "recalc"}


def component(aggregate, *args):
    return lower_defined(define(aggregate), args, "").components[0]


def test_the_chooser_treats_them_like_built_ins():
    spread = component(Spread(), X)
    assert folding(spread)[1] == (np.dtype(object),)
    assert assign(spread, [10], ()).card.name in {a.card.name for a in UNCOMPILED}
    assert assign(spread, [10], forced_pairs({"spread": "doubling"}, ["spread"])).card.name == "doubling"
    with pytest.raises(PlanError, match="has no compiled spread"):
        assign(spread, [10], forced_pairs("block_jit"))
    with pytest.raises(PlanError, match="did you mean 'spread'"):
        forced_pairs({"sprad": "chain"}, ["spread"])


def slices_of(component, lists, starts):
    """The Arrow batch that a worker gets: slice starts, the number of rows, and the rows as lists."""
    return pa.record_batch([pa.array(starts, pa.int64()), pa.array([len(rows) for rows in lists], pa.int64()),
                            pa.array(lists, pa.list_(pa.float64()))], names=["slice", "rows", "list"])


@pytest.mark.parametrize("algorithm", ["chain", "doubling", "recalc", "block", "disjoint", "binary"])
def test_a_partition_of_lists_becomes_answers(algorithm):
    rng = np.random.default_rng(3)
    lists = [rng.normal(0, 9, int(rng.integers(0, 4))).tolist() for _ in range(30)]
    starts = [10 * i for i in range(30)]
    spread = component(Spread(), X)
    stage = final_stage(0, (Window(40, 10), Window(25, 10)), (ROWS, spread), True, (("spread", algorithm),))
    found = {}
    for batch in fold_partition(stage, [slices_of(spread, lists, starts)]):
        for row in batch.to_pylist():
            window = stage.windows[row["_0"]]
            times = row["_4"] or [row["_1"] + i * window.slide for i in range(len(row["_5"]))]
            values = row["_6"] if row["_7"] == 1 else [None] * len(times)
            found |= {(window, time): value for time, value in zip(times, values, strict=True)}
    for window in stage.windows:
        for first in range(-40, 300, 10):
            held = [v for s, rows in zip(starts, lists, strict=True) if first <= s < first + window.range for v in rows]
            if held:
                assert math.isclose(found[window, first], max(held) - min(held), abs_tol=1e-12)
            else:
                assert (window, first) not in found


def test_a_slice_without_rows_is_the_identity():
    definition = define(Parity())
    state = definition.reduced(pa.array([[], [1, 2, 3], [], [4]], pa.list_(pa.int64())))
    assert [a.tolist() for a in state] == [[0, 2, 0, 0], [0, 1, 0, 1]]
    assert definition.reduced(pa.array([[9], [1, 2]], pa.list_(pa.int64())).slice(1))[0].tolist() == [1]


def test_partials_without_a_value_are_the_identity():
    state = define(Weighted()).slices([pa.array([1.5, None]), pa.array([3, None], pa.int64())])
    assert [a.tolist() for a in state] == [[1.5, 0.0], [3, 0]]


def test_track_cluster_centers_equals_a_plain_loop():
    definition = define(TrackClusterCenters(ANCHORS))
    columns = example_columns(definition, 200)
    points = list(zip(*(c.to_pylist() for c in columns), strict=True))
    clusters = [[] for _ in ANCHORS]
    for point in points:
        clusters[min(range(len(ANCHORS)), key=lambda i: (math.dist(point, ANCHORS[i]), i))].append(point)
    whole = definition.operation.reduce_runs(definition.state_of(columns), np.array([0]))
    for found, mine in zip(definition.answers(whole)[0].as_py(), clusters, strict=True):
        assert found["n"] == len(mine)
        center = [math.fsum(p[i] for p in mine) / len(mine) for i in range(2)] if mine else None
        assert equal(found["center"], center, rounding=1e-12)


def test_a_point_between_two_anchors_belongs_to_the_first():
    definition = define(TrackClusterCenters([(0.0,), (10.0,)]))
    found = definition.answers(definition.state_of([pa.array([5.0])]))[0].as_py()
    assert found == [{"n": 1, "center": [5.0]}, {"n": 0, "center": None}]


@pytest.mark.parametrize("anchors", [[], [()], [(1.0,), (1.0, 2.0)], [(math.nan,)]])
def test_anchors_must_be_points(anchors):
    with pytest.raises(ValueError, match="anchors must be points"):
        TrackClusterCenters(anchors)


TRADES = SourceSchema("t", (("ts", "timestamp"), ("x", "double"), ("k", "string")), "ts")


def parse(sql):
    return parse_query("q", sql, {"t": TRADES}, {"spread": define(Spread()).function})


def test_sql_calls_them_by_name_in_any_case():
    query = parse("SELECT k, SPREAD(x) AS s FROM t GROUP BY ALL, window(ts, '1 minute')".replace("ALL", "k")).query
    assert [str(call) for call in query.calls] == ["spread(x)"]
    assert parse("SELECT window(ts, '1 minute'), spread(x) + 1 FROM t GROUP BY ALL").query.keys == ()


def test_a_filter_is_refused_with_what_to_write_instead():
    with pytest.raises(RefusedError) as raised:
        parse("SELECT spread(x) FILTER (WHERE k = 'a') FROM t GROUP BY window(ts, '1 minute')")
    assert "Write spread(CASE WHEN k = 'a' THEN x END)" in str(raised.value) and "column 8" in str(raised.value)


def test_components_of_one_name_and_text_are_one():
    assert component(Spread(), X) == component(Spread(), X)
    assert component(Spread(), X) != Component(Monoid("longest"), ("collect_list(x)",), "double")
