"""The contract of the family: every algorithm, whatever the operation and type, answers as recalc does."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.aggregates.operation import ADD, BIT_AND, BIT_OR, BIT_XOR, COMOMENTS, MAX, MIN, MOMENTS, types_of
from weft.final.algorithms import ALGORITHMS, AlgorithmState, Feed, dense_feed, recalc
from weft.final.algorithms.bulk import bounds, first_needed
from weft.testing.algorithms import Stream, assert_same, cells_for, run_stream
from weft.testing.operations import AFFINE

PAIRS = [
    *((m, np.int64) for m in (ADD, MIN, MAX, BIT_AND, BIT_OR, BIT_XOR)),
    *((m, np.int32) for m in (ADD, MIN, BIT_XOR)),
    *((m, np.float64) for m in (ADD, MIN, MAX)),
    *((m, np.float32) for m in (ADD, MAX)),
    *((m, np.bool_) for m in (MIN, MAX)),
    (MOMENTS, np.float64),
    (COMOMENTS, np.float64),
    (AFFINE, np.int64),
]


@st.composite
def streams(draw, operation, kind, one_range):
    keys = draw(st.integers(1, 4))
    sizes = [draw(st.integers(0, 40)) for _ in range(keys)]
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    density = draw(st.sampled_from([1.0, 0.5, 0.1]))
    times = tuple(np.sort(rng.choice(int(60 / density), s, replace=False)) for s in sizes)
    lengths = draw(st.lists(st.integers(1, 90), min_size=1, max_size=1 if one_range else 5, unique=True))
    slide = draw(st.integers(1, min(lengths)))
    cells = cells_for(operation, kind, sum(sizes), seed, odd=draw(st.booleans()))
    return Stream(cells, times, tuple(sorted(lengths)), slide)


def label(value):
    return getattr(value, "name", None) or getattr(value, "__name__", None) or value.card.name


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.card.name)
@pytest.mark.parametrize(("operation", "kind"), PAIRS, ids=label)
def test_equals_recalc_however_the_input_is_cut(algorithm, operation, kind):
    one_range = algorithm.card.multi is None
    refused = algorithm.supports(operation, tuple(a.dtype for a in cells_for(operation, kind, 1, 0)), [3])
    if refused:
        assert refused.startswith(algorithm.card.title) and len(refused) > 30
        return

    @given(st.data())
    @settings(max_examples=15)
    def check(data):
        stream = data.draw(streams(operation, kind, one_range))
        ends = stream.ends
        cuts = sorted(data.draw(st.lists(st.integers(0, int(ends[-1]) - 1), max_size=4, unique=True)))
        with np.errstate(all="ignore"):
            want = run_stream(recalc, operation, stream)
            assert_same(operation, run_stream(algorithm, operation, stream), want, stream.cells)
            assert_same(operation, run_stream(algorithm, operation, stream, cuts), want, stream.cells)

    check()


def spelled_out(feed, seen):
    """A dense feed with the bounds of its windows written down."""
    lo, hi = bounds(feed, seen)
    ranges = len(feed.ranges)
    return Feed(feed.cells, feed.keys, feed.steps, hi[::ranges].copy(), lo.reshape(-1, ranges), feed.ranges,
                first_needed(feed, seen + np.diff(feed.keys)))


def run_dense(algorithm, operation, lines, ranges, cuts, spelled=()):
    """All answers of keys whose every slice is a step, fed in pieces; those numbered in `spelled` with their bounds."""
    kept, pieces = algorithm.init(operation, types_of(lines[0]), ranges, len(lines), 0), []
    edges = [0, *cuts, max(len(line[0]) for line in lines)]
    for number, (since, until) in enumerate(pairwise(edges)):
        parts = [tuple(a[since:until] for a in line) for line in lines]
        cells = tuple(np.concatenate(field) for field in zip(*parts, strict=True))
        feed = dense_feed(cells, ranges, np.append(0, np.cumsum([len(part[0]) for part in parts])))
        feed = spelled_out(feed, kept.seen.copy()) if number in spelled else feed
        answers, kept = algorithm.advance(operation, kept, feed)
        kept = AlgorithmState.from_bytes(kept.to_bytes())
        pieces.append([tuple(a.reshape(-1, len(ranges))[low:high] for a in answers)
                       for low, high in pairwise(feed.keys)])
    return tuple(np.concatenate([piece[key][field] for key in range(len(lines)) for piece in pieces])
                 for field in range(len(lines[0])))


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.card.name)
@pytest.mark.parametrize(("operation", "kind"), [(ADD, np.int64), (ADD, np.float64), (MAX, np.float64), (MIN, np.int64),
                                              (MOMENTS, np.float64), (AFFINE, np.int64)], ids=label)
def test_dense_equals_recalc_however_the_input_is_cut(algorithm, operation, kind):
    one_range = algorithm.card.multi is None
    if algorithm.supports(operation, tuple(a.dtype for a in cells_for(operation, kind, 1, 0)), [3]):
        return

    @given(st.data())
    @settings(max_examples=25)
    def check(data):
        sizes = data.draw(st.lists(st.integers(0, 120), min_size=1, max_size=3).filter(any))
        seed, odd = data.draw(st.integers(0, 2**32 - 1)), data.draw(st.booleans())
        lines = [cells_for(operation, kind, size, seed + i, odd) for i, size in enumerate(sizes)]
        most = 1 if one_range else 4
        ranges = sorted(data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=most, unique=True)))
        cuts = sorted(data.draw(st.lists(st.integers(0, max(sizes)), max_size=4, unique=True)))
        spelled = data.draw(st.sets(st.integers(0, len(cuts))))
        with np.errstate(all="ignore"):
            want = run_dense(recalc, operation, lines, ranges, ())
            whole = tuple(np.concatenate(field) for field in zip(*lines, strict=True))
            assert_same(operation, run_dense(algorithm, operation, lines, ranges, ()), want, whole)
            assert_same(operation, run_dense(algorithm, operation, lines, ranges, cuts, spelled), want, whole)

    check()
