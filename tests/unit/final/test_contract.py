"""The contract of the family: every algorithm, whatever the operation and type, answers as recalc does."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.aggregates.operation import ADD, BIT_AND, BIT_OR, BIT_XOR, COMOMENTS, MAX, MIN, MOMENTS, types_of
from weft.final.algorithms import ALGORITHMS, recalc
from weft.final.algorithms.sequential import Sequential, dense_feed
from weft.testing.algorithms import SliceStream, assert_same, cells_for, run_stream
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
    return SliceStream(cells, times, tuple(sorted(lengths)), slide)


def label(value):
    return getattr(value, "name", None) or getattr(value, "__name__", None) or value.card.name


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.card.name)
@pytest.mark.parametrize(("operation", "kind"), PAIRS, ids=label)
def test_windows_of_any_slices_equal_recalc(algorithm, operation, kind):
    one_range = algorithm.card.multi is None
    refused = algorithm.supports(operation, tuple(a.dtype for a in cells_for(operation, kind, 1, 0)), [3])
    if refused:
        assert refused.startswith(algorithm.card.title) and len(refused) > 30
        return

    @given(st.data())
    @settings(max_examples=15)
    def check(data):
        stream = data.draw(streams(operation, kind, one_range))
        times = data.draw(st.integers(1, 2))
        with np.errstate(all="ignore"):
            want = run_stream(recalc, operation, stream, times)
            assert_same(operation, run_stream(algorithm, operation, stream, times), want, stream.cells)

    check()


def run_dense(algorithm, operation, lines, ranges, cuts):
    """All answers of a kernel over keys whose every slice is a step, fed in pieces."""
    kept, pieces = algorithm.begin(operation, types_of(lines[0]), ranges, len(lines)), []
    edges = [0, *cuts, max(len(line[0]) for line in lines)]
    for since, until in pairwise(edges):
        parts = [tuple(a[since:until] for a in line) for line in lines]
        cells = tuple(np.concatenate(field) for field in zip(*parts, strict=True))
        feed = dense_feed(cells, ranges, np.append(0, np.cumsum([len(part[0]) for part in parts])))
        answers = algorithm.step(operation, kept, feed)
        pieces.append([tuple(a.reshape(-1, len(ranges))[low:high] for a in answers)
                       for low, high in pairwise(feed.keys)])
    return tuple(np.concatenate([piece[key][field] for key in range(len(lines)) for piece in pieces])
                 for field in range(len(lines[0])))


def read_dense(lines, operation, ranges):
    """The same by recalc, as windows of slices on one line."""
    stream = SliceStream(tuple(np.concatenate(field) for field in zip(*lines, strict=True)),
                    tuple(np.arange(len(line[0])) for line in lines), tuple(ranges), 1)
    lo, hi = stream.windows()
    number = np.tile(np.arange(len(stream.ends)), len(lines))
    sizes = np.repeat([len(line[0]) for line in lines], len(stream.ends))
    there = number < sizes
    answers = recalc.read(operation, stream.cells, lo[there], hi[there])
    return tuple(a.reshape(-1, len(ranges)) for a in answers)


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if isinstance(a, Sequential)], ids=lambda a: a.card.name)
@pytest.mark.parametrize(("operation", "kind"), [(ADD, np.int64), (ADD, np.float64), (MAX, np.float64), (MIN, np.int64),
                                              (MOMENTS, np.float64), (AFFINE, np.int64)], ids=label)
def test_a_kernel_goes_on_where_it_left_off(algorithm, operation, kind):
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
        with np.errstate(all="ignore"):
            want = read_dense(lines, operation, ranges)
            whole = tuple(np.concatenate(field) for field in zip(*lines, strict=True))
            assert_same(operation, run_dense(algorithm, operation, lines, ranges, ()), want, whole)
            assert_same(operation, run_dense(algorithm, operation, lines, ranges, cuts), want, whole)

    check()
