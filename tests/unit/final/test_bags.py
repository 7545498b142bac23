"""Bags: every kernel gives what a plain recount of each window gives."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.aggregates.component import ROWS, Component
from weft.errors import RunError
from weft.final.bags import BY_MONOID, Bag, BagLane
from weft.final.bags.codes import codes_of, order_of
from weft.final.fold import dense as folding
from weft.final.fold.partition import fold_partition
from weft.model.edges import progressions
from weft.model.window import Window
from weft.stages.build import final_stage

NAN = float("nan")
KINDS = {
    "long": (pa.int64(), st.integers(-4, 4) | st.sampled_from([-(2**63), 2**63 - 1, 2**53 + 1])),
    "small": (pa.int8(), st.integers(-128, 127)),
    "double": (pa.float64(), st.sampled_from([NAN, -0.0, 0.0, 1.5, -2.25, math.inf, -math.inf]) | st.floats()),
    "float": (pa.float32(), st.sampled_from([NAN, -0.0, 0.0, 1.5, -2.25, math.inf, -math.inf])),
    "text": (pa.string(), st.sampled_from(["", "a", "b", "Z", "Zürich", "日本"])),
    "bytes": (pa.binary(), st.sampled_from([b"", b"\x00", b"\xff", b"a"])),
    "truth": (pa.bool_(), st.booleans()),
    "day": (pa.date32(), st.dates(date(1960, 1, 1), date(2030, 1, 1))),
    "decimal": (pa.decimal128(12, 3), st.integers(-(10**11), 10**11).map(lambda n: Decimal(n).scaleb(-3))),
    "wide": (pa.decimal128(38, 6), st.integers(-(10**37), 10**37).map(lambda n: Decimal(n).scaleb(-6))),
}
NUMBERS = ("long", "small", "double", "float", "decimal", "wide")


@st.composite
def bags(draw, kinds=tuple(KINDS)) -> tuple[str, list[list], list[tuple[int, int]]]:
    """Slices of values, and windows over them of which neither end ever falls."""
    kind = draw(st.sampled_from(kinds))
    slices = draw(st.lists(st.lists(KINDS[kind][1], max_size=4), max_size=14))
    ends = st.integers(0, len(slices))
    low = sorted(draw(st.lists(ends, min_size=1, max_size=12)))
    high = sorted(draw(st.lists(ends, min_size=len(low), max_size=len(low))))
    return kind, slices, [(a, max(a, b)) for a, b in zip(low, high, strict=True)]


def answers(monoid: str, kind: str, slices: list[list], windows: list[tuple[int, int]], *parameters: float) -> list:
    """What a kernel answers, null where its mark says so; the slices are the middle of a longer bag."""
    padded = [[], *slices, []]
    column = pa.array(padded, pa.list_(KINDS[kind][0]))
    lane = BagLane(BY_MONOID[monoid], parameters, Bag.of(column))
    low, high = np.array(windows).T
    (values,), marks = lane.over(slice(1, len(slices) + 1))(low, high)
    return [None if marks is not None and not marks[i] else v for i, v in enumerate(values.to_pylist())]


def seen(slices: list[list], windows: list[tuple[int, int]]) -> list[list]:
    """The values of each window."""
    return [[value for held in slices[low:high] for value in held] for low, high in windows]


def grouped(value: object) -> object:
    """What Spark groups a value by: NaN is itself, and -0.0 is 0.0."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def placed(value: object) -> tuple:
    """Spark's order: NaN last."""
    return (grouped(value) == "NaN", 0 if grouped(value) == "NaN" else value)


def same(ours: object, theirs: object) -> bool:
    """Whether two answers are equal, NaN to NaN."""
    return grouped(ours) == grouped(theirs)


def percentile(values: list, percentage: float) -> float | None:
    """Spark's percentile, which is numpy's linear one."""
    if not values:
        return None
    ranked = sorted(values, key=placed)
    position = (len(ranked) - 1) * percentage
    low, high = math.floor(position), math.ceil(position)
    a, b = ranked[low], ranked[high]
    if low == high or a == b:
        return float(a)
    return float(a) + (position - low) * (float(b) - float(a))


@given(bags())
def test_distinct_values_are_counted(given_bag):
    kind, slices, windows = given_bag
    expected = [len({grouped(v) for v in held}) for held in seen(slices, windows)]
    assert answers("distinct", kind, slices, windows) == expected


@given(bags(NUMBERS), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]))
def test_percentiles_lie_between_neighbours(given_bag, percentage):
    kind, slices, windows = given_bag
    expected = [percentile(held, percentage) for held in seen(slices, windows)]
    found = answers("percentile", kind, slices, windows, percentage)
    assert all(same(a, b) for a, b in zip(found, expected, strict=True)), (found, expected)


@given(bags(("small", "double", "day")), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]))
def test_approximate_percentiles_have_their_rank(given_bag, percentage):
    kind, slices, windows = given_bag
    found = answers("rank", kind, slices, windows, percentage, 10_000.0)
    for ours, held in zip(found, seen(slices, windows), strict=True):
        rank = max(math.ceil(percentage * len(held)), 1)
        assert same(ours, sorted(held, key=placed)[rank - 1] if held else None)


@given(bags())
def test_the_mode_is_the_least_of_the_most_frequent(given_bag):
    kind, slices, windows = given_bag
    for ours, held in zip(answers("mode", kind, slices, windows), seen(slices, windows), strict=True):
        counts = Counter(grouped(v) for v in held)
        best = [v for v in held if counts[grouped(v)] == max(counts.values())]
        assert same(ours, min(best, key=placed) if held else None)


@given(bags())
def test_lists_hold_all_values_and_sets_each_once(given_bag):
    kind, slices, windows = given_bag
    held = [[grouped(v) for v in values] for values in seen(slices, windows)]
    lists, sets = (answers(name, kind, slices, windows) for name in ("list", "set"))
    assert [[grouped(v) for v in values] for values in lists] == held
    assert [[grouped(v) for v in values] for values in sets] == [list(dict.fromkeys(values)) for values in held]


def test_registers_of_windows_are_those_of_their_slices_together():
    """A window's estimate is that of one slice that holds all its values, at every overlap."""
    rng = np.random.default_rng(3)
    slices = [(rng.integers(0, 16, n) * 64 + rng.geometric(0.5, n)).tolist() for n in rng.integers(0, 40, 60)]
    windows = [(i, min(i + 7, 60)) for i in range(60)]
    whole = [[value for held in slices[low:high] for value in held] for low, high in windows]
    alone = answers("registers", "long", whole, [(i, i + 1) for i in range(60)], 4)
    assert answers("registers", "long", slices, windows, 4) == alone
    assert answers("registers", "long", [[]], [(0, 1), (0, 0), (1, 1)][:1], 4) == [0]


def test_doubles_keep_their_signs_in_order_and_lose_them_in_groups():
    values = pa.array([0.0, -0.0, NAN, -NAN, 1.0, -math.inf])
    assert str(order_of(values).terms.to_pylist()) == "[-inf, -0.0, 0.0, 1.0, nan]"
    assert str(codes_of(values).terms.to_pylist()) == "[-inf, 0.0, 1.0, nan]"
    assert codes_of(values).numbers.tolist() == [1, 1, 3, 3, 2, 0]


def test_structs_are_one_where_all_their_fields_are():
    kind = pa.struct([("a", pa.float64()), ("b", pa.string())])
    pairs = [(0.0, "x"), (-0.0, "x"), (None, "x"), (0.0, None), (NAN, "x"), (NAN, "x")]
    assert codes_of(pa.array([{"a": a, "b": b} for a, b in pairs], kind)).numbers.tolist() == [2, 2, 0, 1, 3, 3]


def test_large_numbers_come_back_as_doubles_do():
    big = [[2**53 + 1, 2**63 - 1]]
    assert answers("rank", "long", big, [(0, 1)], 0.1, 10_000.0) == [2**53]
    assert answers("rank", "long", big, [(0, 1)], 0.9, 10_000.0) == [2**63 - 1]
    assert answers("rank", "wide", [[Decimal("1.5")]], [(0, 1)], 0.5, 10_000.0) == [1.5]


BAG = "collect_list(x)"
COMPONENTS = (
    ROWS,
    Component("percentile", (BAG,), "double", parameters=(0.5,)),
    Component("mode", (BAG,), "bigint"),
    Component("list", (BAG,), "array<bigint>"),
    Component("distinct", ("collect_set(x)",), "bigint"),
)


@st.composite
def shapes(draw) -> tuple[Window, ...]:
    """Windows of any kind."""
    made = set()
    for _ in range(draw(st.integers(1, 4))):
        slide = draw(st.sampled_from([1, 2, 3, 5, 7, 11]))
        made.add(Window(slide + draw(st.integers(0, 40)), slide, draw(st.integers(-slide + 1, slide - 1))))
    return tuple(sorted(made))


ROW = st.tuples(st.sampled_from("abc"), st.integers(-50, 50) | st.integers(10_000, 10_040),
                st.none() | st.integers(-5, 5))


def slices_of(data: list[tuple], windows: tuple[Window, ...]) -> pa.RecordBatch:
    """What a partial stage would send for these rows, in no order."""
    found: dict[tuple[str, int], list] = {}
    for key, time, value in data:
        start = max(time - (time - phase) % period for phase, period in progressions(windows))
        found.setdefault((key, start), []).append(value)
    held = [[v for v in values if v is not None] for values in found.values()]
    columns = [pa.array([k for k, _ in found], pa.string()), pa.array([s for _, s in found], pa.int64()),
               pa.array([len(v) for v in found.values()], pa.int64()), pa.array(held, pa.list_(pa.int64())),
               pa.array([list(set(v)) for v in held], pa.list_(pa.int64()))]
    return pa.record_batch(columns, names=list("ksnbd"))


def expected(data: list[tuple], windows: tuple[Window, ...]) -> dict:
    """Every answer by the definition of a window."""
    found: dict[tuple, list] = {}
    for number, window in enumerate(windows):
        for key, time, value in data:
            last = time - (time - window.phase) % window.slide
            for start in range(last, time - window.range, -window.slide):
                found.setdefault((number, key, start), []).append(value)
    made = {}
    for place, values in found.items():
        held = [v for v in values if v is not None]
        counts = Counter(held)
        mode = min((v for v in held if counts[v] == max(counts.values())), default=None)
        made[place] = (len(values), percentile(held, 0.5), mode, sorted(held), len(set(held)))
    return made


def received(batches) -> dict:
    """The answers in the wire format, each once."""
    found: dict[tuple, tuple] = {}
    for batch in batches:
        for row in zip(*batch.to_pydict().values(), strict=True):
            window, key, first, slide, _, starts, counts, middles, m1, modes, m2, lists, _, distinct, _ = row
            for i, count in enumerate(counts):
                place = (window, key, starts[i] if starts else first + i * slide)
                assert place not in found
                found[place] = (count, middles[i] if m1 else None, modes[i] if m2 else None, sorted(lists[i]),
                                distinct[i])
    return found


@given(data=st.lists(ROW, max_size=60), windows=shapes(), tile=st.sampled_from([4, 64, 1 << 15]),
       sent=st.sampled_from([1, 9, 1 << 21]))
def test_bags_of_ragged_slices_answer_every_window_once(data, windows, tile, sent):
    stage = final_stage(1, windows, COMPONENTS, True, ())
    kept = folding.TILE, folding.SENT
    folding.TILE, folding.SENT = tile, sent
    try:
        assert received(fold_partition(stage, [slices_of(data, windows)])) == expected(data, windows)
    finally:
        folding.TILE, folding.SENT = kept


def test_a_worker_refuses_more_values_than_the_bound():
    windows = (Window(10, 5),)
    stage = replace(final_stage(1, windows, COMPONENTS, True, ()), max_bag_values=2)
    batch = slices_of([("a", 1, 1), ("a", 2, 2), ("a", 3, 3)], windows)
    with pytest.raises(RunError, match=r"3 values .* bound is 2 \(max_bag_values\)"):
        list(fold_partition(stage, [batch]))
