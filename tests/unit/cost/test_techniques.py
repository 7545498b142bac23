"""The bounds on Ω that weaving relies on: never above what the merged tree's Ω is, at any edge rate it can have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.cost.model import find_technique
from weft.cost.techniques import TECHNIQUES, Members

windows_of = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 12)), min_size=1, max_size=8, unique=True)
rates_of = st.fractions(min_value="1/40", max_value=2, max_denominator=40).map(float)
more_of = st.one_of(st.just(1.0), st.floats(1, 3))


def members_of(windows):
    return Members(*(np.array(part, float) for part in zip(*windows, strict=True)))


def slack(technique, members):
    """Flat FAT's formula falls by up to one a window where P passes a power of two."""
    return len(members) if technique.omega.__name__ == "flat_fat" else 1e-9


@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda t: t.name)
@given(windows_of, rates_of, more_of)
def test_what_lasts_is_never_above_omega(technique, windows, rate, more):
    members = members_of(windows)
    assert technique.lasting(members, rate) <= technique.omega(members, rate * more) + slack(technique, members)


@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda t: t.name)
@given(windows_of, windows_of, rates_of, rates_of, more_of)
def test_bounds_are_never_above_the_merged_omega(technique, first, second, rate, other, more):
    trees = [members_of(first), members_of([w for w in second if w not in first] or [(99, 9)])]
    rates = np.array([rate, other])
    merged = trees[0].join(trees[1])
    omega = technique.omega(merged, rates.max() * more) + slack(technique, merged)
    a, b = (technique.lasting(tree, float(r)) for tree, r in zip(trees, rates, strict=True))
    assert technique.least(a, b, *map(len, trees)) <= omega
    assert a + b - technique.alike(trees, rates)[0, 1] <= omega


@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda t: t.name)
@given(windows_of, windows_of, windows_of, st.lists(rates_of, min_size=3, max_size=3), more_of, more_of)
def test_what_is_alike_adds_up_when_trees_merge(technique, first, second, third, rates, more, further):
    trees = [members_of(windows) for windows in (first, second, third)]
    alike = technique.alike(trees, np.array(rates))
    both, rate = trees[0].join(trees[1]), max(rates[:2]) * more
    merged, whole = both.join(trees[2]), max(rate, rates[2]) * further
    bound = technique.lasting(both, rate) + technique.lasting(trees[2], rates[2]) - alike[0, 2] - alike[1, 2]
    assert bound <= technique.omega(merged, whole) + slack(technique, merged)


def test_ranges_far_apart_have_nothing_in_common():
    technique = find_technique("slick_deque_inv")
    trees = [members_of([(10, 5), (20, 5)]), members_of([(15, 5)]), members_of([(11, 5)])]
    assert technique.alike(trees, np.array([0.4, 0.4, 0.4])).tolist() == [[4, 0, 2], [0, 2, 0], [2, 0, 2]]
