"""Sums of doubles over long lines: every legal member errs by at most 1e-12 · Σ|x| of the window's own slices."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest

from weft.aggregates.component import Component
from weft.aggregates.monoids.lanes import Lane
from weft.aggregates.operation import ADD, LINEAR
from weft.final.algorithms import ALGORITHMS, disjoint
from weft.final.algorithms.bulk import Bulk
from weft.final.algorithms.sequential import dense_feed
from weft.final.choose import read_by
from weft.final.fold.dense import Slices
from weft.final.fold.middle import fold_latest
from weft.final.fold.ragged import Span, fold_ragged
from weft.model.window import Window

BOUND = 1e-12
FLOAT = np.dtype(np.float64)
LINE = 262_144 + 1000
WINDOWS = (1000, LINEAR, 65_536, 262_144)
SPIKED = (700, 150_000)
FEW = 64  # windows that the naive member folds


def draw(kind: str) -> np.ndarray:
    """A long line: tenths round the same way each time, spikes and infinities must leave no trace."""
    rng = np.random.default_rng(7)
    values = np.full(LINE, 0.1) if kind == "tenths" else rng.random(LINE)
    if kind == "spikes":
        values[list(SPIKED)] = 1e16, -1e16
    if kind == "infinities":
        values[list(SPIKED)] = np.inf, -np.inf
    return values


KINDS = {kind: draw(kind) for kind in ("tenths", "uniform", "spikes", "infinities")}


@lru_cache
def sampled_ends(kind: str, window: int) -> dict[int, tuple[float, float]]:
    """Where some windows end (one past the last slice), with their exact sums and sums of absolute values."""
    near = [place + shift for place in SPIKED for shift in (0, 1, 2, window, window + 1, window + 2)]
    anywhere = np.random.default_rng(window).integers(window, LINE + 1, 5).tolist()
    ends = {end for end in (*near, *anywhere, window, window + 1, LINE) if window <= end <= LINE}
    return {end: exact(KINDS[kind][end - window : end]) for end in ends}


def exact(span: np.ndarray) -> tuple[float, float]:
    """The sum rounded once, or the NaN or infinity that it is; and what its error is measured by."""
    with np.errstate(invalid="ignore"):
        total = math.fsum(span.tolist()) if np.isfinite(span).all() else float(span.sum())
    return total, math.fsum(np.abs(span[np.isfinite(span)]).tolist())


def check(found: np.ndarray, first: int, kind: str, window: int) -> None:
    """Compares the sums of windows that end at `first`, `first + 1` … with the exact ones."""
    looked = 0
    for end, (total, scale) in sampled_ends(kind, window).items():
        if first <= end < first + len(found):
            got, looked = found[end - first], looked + 1
            close = abs(got - total) <= BOUND * scale if math.isfinite(total) else np.array_equal(got, total, True)
            assert close, f"the window that ends at {end} is {got!r}, not {total!r}"
    assert looked


def pairs() -> list:
    """Every member with every window over which it may add doubles."""
    return [pytest.param(a, w, id=f"{a.card.name}-{w}") for a in ALGORITHMS for w in WINDOWS
            if a.missing is None and a.supports(ADD, (FLOAT,), [w]) is None]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("algorithm", "window"), pairs())
def test_a_line_keeps_the_bound(algorithm, window, kind):
    size = FEW if algorithm.card.name == "recalc" else LINE - window + 1
    with np.errstate(invalid="ignore"):
        [(found,)] = algorithm.slide(ADD, (KINDS[kind],), [window], size)
    check(found, window, kind, window)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("algorithm", "window"), [p for p in pairs() if not isinstance(p.values[0], Bulk)])
def test_a_kernel_in_pieces_keeps_the_bound(algorithm, window, kind):
    kept, pieces = algorithm.begin(ADD, (FLOAT,), [window], 1), []
    for piece in np.split(KINDS[kind], [999, 140_000]):
        (sums,) = algorithm.step(ADD, kept, dense_feed((piece,), [window]))
        pieces.append(sums)
    check(np.concatenate(pieces), 1, kind, window)


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if a.card.multi and a.missing is None
                                       and a.supports(ADD, (FLOAT,), [65_536]) is None], ids=lambda a: a.card.name)
def test_many_long_ranges_keep_the_bound(algorithm):
    values, ranges = KINDS["tenths"][:65_552], list(range(65_437, 65_537))
    for window, (found,) in zip(ranges, algorithm.slide(ADD, (values,), ranges, 16), strict=True):
        total = math.fsum(values[:window].tolist())
        assert abs(found - total).max() <= BOUND * total


def test_a_stream_reads_long_windows_of_doubles_within_the_bound(monkeypatch):
    """Nobody knows how many slices a window of a stream will hold, so what reads them must take any number."""
    price = Component("add", ("sum(price)",), "double")
    assert read_by(price, [10], ()) == disjoint.card.name
    window, values = Window(262_144, 1), KINDS["tenths"]
    slices = Slices(np.zeros(LINE, np.int64), np.arange(LINE), np.ones(LINE, np.int64))
    lane = Lane(ADD, (values,), None, lambda state: ([state[0]], None))
    [answers] = fold_ragged(slices, [window], [lane], [[disjoint]], Span(LINE - 1, LINE))
    [[found]] = [values for values, _ in answers.lanes]
    total = math.fsum(values[-262_144:].tolist())
    assert abs(found - total).max() <= BOUND * total
    monkeypatch.setattr("weft.final.fold.middle.MOST_CELLS", LINE)
    [answers] = fold_latest(slices, [window], [lane], [[disjoint]], Span(LINE - 1, LINE))
    [[around]] = [values for values, _ in answers.lanes]
    assert abs(around - total).max() <= BOUND * total
