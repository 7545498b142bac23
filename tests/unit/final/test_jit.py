"""Compiled kernels: what an older version kept on disk does not stop a newer one."""

from __future__ import annotations

import numpy as np
import pytest

from weft.final.algorithms.jit import Kernel, missing


def double(values):
    for i in range(len(values)):
        values[i] *= 2
    return len(values)


@pytest.mark.skipif(missing() is not None, reason="numba is an extra")
@pytest.mark.parametrize("error", [ModuleNotFoundError("no module 'weft.gone'"), AttributeError("gone"), EOFError()])
def test_a_cache_that_cannot_be_read_is_left_alone(error):
    def stale(*_):
        raise error

    kernel, values = Kernel(double), np.array([1, 2])
    kernel._compiled = stale
    assert kernel(values) == 2 and values.tolist() == [2, 4]
