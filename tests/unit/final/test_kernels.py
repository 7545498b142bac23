"""The contract of the kernels: whatever the operation and type, equal to recalc wherever the algebra allows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.aggregates.operation import (
    ADD,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    COMOMENTS,
    MAX,
    MIN,
    MOMENTS,
    Operation,
    State,
    types_of,
)
from weft.final.algorithms import ALGORITHMS, chain, prefix, recalc
from weft.final.choose import choose

INTS = (np.int8, np.int32, np.int64)
PAIRS = [
    *((m, t) for m in (ADD, MIN, MAX, BIT_AND, BIT_OR, BIT_XOR) for t in INTS if not (m is ADD and t is np.int8)),
    *((m, t) for m in (ADD, MIN, MAX) for t in (np.float32, np.float64)),
    *((m, np.bool_) for m in (MIN, MAX)),
    (MOMENTS, np.float64),
    (COMOMENTS, np.float64),
]


def cells_of(operation: Operation, kind: type, seed: int, size: int, odd: bool) -> State:
    rng = np.random.default_rng(seed)
    if operation in (MOMENTS, COMOMENTS):
        fields = 5 if operation is MOMENTS else 6
        count = rng.integers(0, 5, size).astype(float)
        return (count, *(np.where(count > 0, rng.normal(3, 1, size) ** 2, 0.0) for _ in range(fields - 1)))
    if kind is np.bool_:
        return (rng.random(size) < 0.5,)
    if np.issubdtype(kind, np.integer):
        info = np.iinfo(kind)
        values = rng.integers(info.min, info.max, size, dtype=kind, endpoint=True)
        return (np.where(rng.random(size) < 0.2, operation.identity((values.dtype,))[0], values).astype(kind),)
    values = rng.normal(0, 100, size).astype(kind)
    if odd:
        values[rng.random(size) < 0.1] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0])
    return (values,)


def agree(operation: Operation, got: State, want: State) -> None:
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        if a.dtype.kind == "f" and not operation.idempotent:
            rough = a.dtype == np.float32
            np.testing.assert_allclose(a, b, rtol=1e-4 if rough else 1e-9, atol=1e-2 if rough else 1e-7)
        else:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.card.name)
@pytest.mark.parametrize(("operation", "kind"), PAIRS, ids=lambda p: getattr(p, "name", getattr(p, "__name__", "")))
@given(seed=st.integers(0, 10**6), size=st.integers(1, 60), odd=st.booleans(),
       lengths=st.lists(st.integers(1, 70), min_size=1, max_size=8))
@settings(max_examples=15)
def test_every_slide_equals_recalc(algorithm, operation, kind, seed, size, odd, lengths):
    lengths = sorted(set(lengths))[: 1 if algorithm.card.multi is None else 8]
    cells = cells_of(operation, kind, seed, size + lengths[-1], odd)
    if algorithm.supports(operation, types_of(cells), lengths):
        assert choose(operation, types_of(cells), lengths) is not algorithm
        return
    with np.errstate(all="ignore"):
        want = list(recalc.slide(operation, cells, lengths, size))
        got = list(algorithm.slide(operation, cells, lengths, size))
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        agree(operation, a, b)


@pytest.mark.parametrize(("operation", "kind"), PAIRS, ids=lambda p: getattr(p, "name", getattr(p, "__name__", "")))
@given(seed=st.integers(0, 10**6), runs=st.lists(st.integers(1, 9), min_size=1, max_size=12))
def test_runs_reduce_as_one_by_one(operation, kind, seed, runs):
    cells = cells_of(operation, kind, seed, sum(runs), False)
    first = np.concatenate(([0], np.cumsum(runs)[:-1]))
    got = operation.reduce_runs(cells, first)
    for i, (begin, length) in enumerate(zip(first.tolist(), runs, strict=True)):
        total = tuple(a[begin : begin + 1] for a in cells)
        for j in range(begin + 1, begin + length):
            total = operation.combine(total, tuple(a[j : j + 1] for a in cells))
        agree(operation, tuple(a[i : i + 1] for a in got), total)


@pytest.mark.parametrize(("operation", "kind"), PAIRS, ids=lambda p: getattr(p, "name", getattr(p, "__name__", "")))
@given(seed=st.integers(0, 10**6), odd=st.booleans())
def test_identity_changes_nothing(operation, kind, seed, odd):
    cells = cells_of(operation, kind, seed, 20, odd)
    nothing = operation.empty(types_of(cells), 20)
    for got in (operation.combine(cells, nothing), operation.combine(nothing, cells)):
        for a, b in zip(got, cells, strict=True):
            np.testing.assert_array_equal(a, b)


SPIKES = {
    "uniform": lambda rng, n: rng.random(n),
    "one spike of 1e16": lambda rng, n: np.where(np.arange(n) == n // 3, 1e16, rng.random(n)),
    "mixed with ±1e16": lambda rng, n: np.where(rng.random(n) < 0.01, rng.choice([1e16, -1e16], n), 1.0),
}


@pytest.mark.parametrize("kind", SPIKES)
def test_double_sums_keep_their_bound_however_long_the_stream(kind):
    """A sum errs by at most 1e-12 · Σ|x| of its own window, whatever passed before."""
    size, lengths = 40_000, [2, 60, 61, 100, 999, 1000, 1001]
    values = SPIKES[kind](np.random.default_rng(5), size + 1001)
    algorithm = choose(ADD, (values.dtype,), lengths)
    for length, (got,) in zip(lengths, algorithm.slide(ADD, (values,), lengths, size), strict=True):
        for place in range(0, size, 997):
            window = values[place : place + length]
            assert abs(got[place] - math.fsum(window)) <= 1e-12 * np.abs(window).sum()


def test_subtraction_of_doubles_breaks_that_bound():
    values = SPIKES["one spike of 1e16"](np.random.default_rng(5), 41_000)
    (got,) = next(prefix.slide(ADD, (values,), [1000], 40_000))
    window = values[30_000:31_000]
    assert abs(got[30_000] - math.fsum(window)) > 1e-12 * np.abs(window).sum()


def test_an_infinity_that_has_passed_leaves_no_trace():
    values = np.ones(5000)
    values[1000] = np.inf
    (got,) = next(chain.slide(ADD, (values,), [10], 4000))
    assert np.isinf(got[991:1001]).all() and (got[1001:] == 10).all() and (got[:991] == 10).all()
