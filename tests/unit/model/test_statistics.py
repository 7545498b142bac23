"""How many keys all rows have, told from a sample of them."""

from __future__ import annotations

import numpy as np
import pytest

from weft.model.statistics import keys_of_sample


@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("keys", [10, 1000, 20_000, 200_000])
def test_keys_of_a_sample(keys, fraction):
    random = np.random.default_rng(7)
    rows = random.integers(0, keys, 200_000)
    sample = rows[random.random(len(rows)) < fraction]
    estimate = keys_of_sample(len(np.unique(sample)), len(sample), fraction)
    rare = fraction * len(rows) / keys < 0.1  # then hardly any key comes twice, and chance decides
    assert estimate == pytest.approx(len(np.unique(rows)), rel=0.5 if rare else 0.25)


def test_extremes():
    assert keys_of_sample(5, 100, 1.0) == 5, "all rows show all keys"
    assert keys_of_sample(50, 50, 0.1) == 500, "every row its own key"
    assert keys_of_sample(0, 0, 0.1) == keys_of_sample(0, 0, 1.0) == 1, "rates are divided by it"
    assert keys_of_sample(1, 50, 0.1) == pytest.approx(1)
