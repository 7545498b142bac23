"""Combines per slide, counted: every algorithm keeps the bounds on its card (001 Table 2)."""

from __future__ import annotations

import numpy as np
import pytest

from weft.aggregates.operation import ADD, MAX
from weft.final.algorithms import ALGORITHMS
from weft.final.algorithms.bulk import Bulk
from weft.testing.algorithms import count_slide, count_steps

SPANS = (1, 2, 4, 7, 16, 50, 64, 100)
INT = (np.dtype(np.int64),)
ORDERS = {
    "random": lambda n: np.random.default_rng(n).integers(0, 1000, n),
    "rising": np.arange,
    "falling": lambda n: np.arange(n)[::-1],
    "constant": lambda n: np.ones(n, np.int64),
}


def operation_for(algorithm):
    return ADD if algorithm.supports(ADD, INT, [3]) is None else MAX


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if not isinstance(a, Bulk)], ids=lambda a: a.card.name)
def test_one_slice_at_a_time(algorithm, order):
    for n in SPANS:
        counts = count_steps(algorithm, operation_for(algorithm), (ORDERS[order](6 * n + 5),), [n])
        assert counts.mean() <= algorithm.card.single.of(n)
        assert counts.max() <= algorithm.card.worst.of(n)
        whole = count_steps(algorithm, operation_for(algorithm), (ORDERS[order](6 * n + 5),), [n], at_once=6 * n + 5)
        assert whole.sum() <= algorithm.card.single.of(n) * (6 * n + 5)


@pytest.mark.parametrize("order", ["random", "falling"])
@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if not isinstance(a, Bulk) and a.card.multi],
                         ids=lambda a: a.card.name)
def test_all_ranges_at_once(algorithm, order):
    for n in (1, 4, 7, 16, 50, 64):
        counts = count_steps(algorithm, operation_for(algorithm), (ORDERS[order](4 * n + 5),), list(range(1, n + 1)))
        assert counts.mean() <= max(algorithm.card.multi.of(n), algorithm.card.single.of(n))


@pytest.mark.parametrize("algorithm", [a for a in ALGORITHMS if isinstance(a, Bulk) and a.card.engine == "numpy"],
                         ids=lambda a: a.card.name)
def test_a_whole_line(algorithm):
    for n in SPANS:
        size = 64 * n
        cells = (np.random.default_rng(n).integers(0, 1000, size + n),)
        operation = operation_for(algorithm)
        assert count_slide(algorithm, operation, cells, [n], size) / (size + n) <= algorithm.card.single.of(n)
        every = count_slide(algorithm, operation, cells, list(range(1, n + 1)), size) / (size + n)
        assert every <= algorithm.card.multi.of(n)
