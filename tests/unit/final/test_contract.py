"""The contract of the family: every algorithm, whatever the monoid and type, answers as recalc does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.aggregates.monoid import ADD, BIT_AND, BIT_OR, BIT_XOR, COMOMENTS, MAX, MIN, MOMENTS
from weft.final import ALGORITHMS, recalc
from weft.testing.algorithms import Stream, assert_same, cells_for, run_stream
from weft.testing.monoids import AFFINE

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
def streams(draw, monoid, kind, one_range):
    keys = draw(st.integers(1, 4))
    sizes = [draw(st.integers(0, 40)) for _ in range(keys)]
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    density = draw(st.sampled_from([1.0, 0.5, 0.1]))
    times = tuple(np.sort(rng.choice(int(60 / density), s, replace=False)) for s in sizes)
    lengths = draw(st.lists(st.integers(1, 90), min_size=1, max_size=1 if one_range else 5, unique=True))
    slide = draw(st.integers(1, min(lengths)))
    cells = cells_for(monoid, kind, sum(sizes), seed, odd=draw(st.booleans()))
    return Stream(cells, times, tuple(sorted(lengths)), slide)


def label(value):
    return getattr(value, "name", None) or getattr(value, "__name__", None) or value.card.name


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.card.name)
@pytest.mark.parametrize(("monoid", "kind"), PAIRS, ids=label)
def test_equals_recalc_however_the_input_is_cut(algorithm, monoid, kind):
    one_range = algorithm.card.multi is None
    refused = algorithm.supports(monoid, tuple(a.dtype for a in cells_for(monoid, kind, 1, 0)), [3])
    if refused:
        assert refused.startswith(algorithm.card.title) and len(refused) > 30
        return

    @given(st.data())
    @settings(max_examples=15)
    def check(data):
        stream = data.draw(streams(monoid, kind, one_range))
        ends = stream.ends
        cuts = sorted(data.draw(st.lists(st.integers(0, int(ends[-1]) - 1), max_size=4, unique=True)))
        with np.errstate(all="ignore"):
            want = run_stream(recalc, monoid, stream)
            assert_same(monoid, run_stream(algorithm, monoid, stream), want, stream.cells)
            assert_same(monoid, run_stream(algorithm, monoid, stream, cuts), want, stream.cells)

    check()
