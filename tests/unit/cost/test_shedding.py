"""Answers of a sample: unbiased by enumeration, variances and shares by value, intervals that cover what they say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from math import inf, prod, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.cost.shedding.bounds import expected_error, needed_integer_share, needed_share, skewness_factor
from weft.cost.shedding.estimates import FEWEST_KEPT, Z95, Estimate, WeightedSums, weighted
from weft.cost.shedding.join_variance import JoinedPair, join_estimate, join_sketch, join_variance
from weft.cost.shedding.sampling import HASHES, LOWEST, Sampling, share_with_variance
from weft.cost.shedding.triggers import TriggerLoad, measure_triggers, shortest_trigger, utilisation
from weft.errors import PlanError

TEN = (3.0, -1.5, 0.0, 7.25, 100.0, 2.0, 2.0, -40.0, 11.0, 5.5)
shares = st.floats(0.01, 1)


def weights_of(sampling: Sampling) -> tuple[tuple[int, float], ...]:
    """Every weight that a row can get, with its probability."""
    light, heavy = sampling.light, sampling.share - sampling.light
    return (0, 1 - sampling.share), (sampling.weight - 1, light), (sampling.weight, heavy)


def samples(sampling: Sampling, size: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every sample of so many rows, with its probability."""
    possible = [pair for pair in weights_of(sampling) if pair[1] > 1e-12]
    for found in product(possible, repeat=size):
        yield tuple(weight for weight, _ in found), prod(chance for _, chance in found)


@pytest.mark.parametrize("share", [1 / 2, 1 / 4, 0.6, 0.4])
def test_counts_sums_and_variances_are_unbiased(share):
    """All 1024 samples of ten rows by their probabilities; where two weights mix, all 2187 of seven."""
    sampling = Sampling(share)
    rows = TEN if share in (1 / 2, 1 / 4) else TEN[:7]
    mean: dict[str, float] = defaultdict(float)
    for weights, chance in samples(sampling, len(rows)):
        sums = weighted(zip(rows, weights, strict=True))
        count, total = sums.count(), sums.sum()
        for name, value in (("chance", 1), ("count", count.value), ("sum", total.value),
                            ("count_variance", count.variance), ("sum_variance", total.variance),
                            ("count_square", count.value**2), ("sum_square", total.value**2)):
            mean[name] += chance * value
    assert mean["chance"] == pytest.approx(1)
    assert (mean["count"], mean["sum"]) == pytest.approx((len(rows), sum(rows)))
    squares = sum(x * x for x in rows)
    assert mean["count_variance"] == pytest.approx(mean["count_square"] - len(rows) ** 2)
    assert mean["sum_variance"] == pytest.approx(mean["sum_square"] - sum(rows) ** 2)
    assert mean["sum_variance"] == pytest.approx(sampling.variance * squares)


def test_golden_values():
    """x = 1 … 4, every second row kept on average, and those are 2 and 4."""
    sums = weighted([(1, 0), (2, 2), (3, 0), (4, 2)])
    found = {name: (e.value, round(e.error, 2)) for name, e in (("count", sums.count()), ("sum", sums.sum()),
                                                               ("avg", sums.avg()))}
    assert found == {"count": (4, 2.0), "sum": (12, 6.32), "avg": (3, 0.5)}


def test_nothing_dropped_is_exact():
    sums = weighted((x, 1) for x in TEN)
    assert sums.count() == Estimate(10, 0, 10) and sums.sum() == Estimate(sum(TEN), 0, 10)
    assert sums.avg() == Estimate(sum(TEN) / 10, 0, 10) and sums.sum().interval() == (sum(TEN), sum(TEN))
    assert isinstance(weighted([(3, 2), (4, 2)]).sum().value, int), "sums of integers stay integers"
    assert WeightedSums().avg() is None


rows = st.lists(st.tuples(st.floats(-1e3, 1e3), st.integers(0, 9)), max_size=8)


@given(rows, rows)
def test_slices_merge_whatever_their_shares(first, second):
    merged, whole = weighted(first) + weighted(second), weighted(first + second)
    assert merged.count() == whole.count()
    assert merged.sum().value == pytest.approx(whole.sum().value, abs=1e-6)
    assert merged.sum().variance == pytest.approx(whole.sum().variance, abs=1e-3)


@given(rows)
def test_the_variance_of_an_average_is_around_the_average(found):
    average = weighted(found).avg()
    if average is not None:
        want = sum(w * (w - 1) * (x - average.value) ** 2 for x, w in found) / sum(w for _, w in found) ** 2
        assert average.variance == pytest.approx(want, abs=1e-4)


@given(shares)
def test_weights_are_neighbours_and_one_on_average(share):
    sampling = Sampling(share)
    chances = weights_of(sampling)
    assert all(-1e-12 <= chance <= 1 for _, chance in chances)
    assert sum(weight * chance for weight, chance in chances) == pytest.approx(1)
    variance = sum(weight**2 * chance for weight, chance in chances) - 1
    assert sampling.variance == pytest.approx(variance, abs=1e-9)
    assert (1 - share) / share - 1e-9 <= sampling.variance <= 1.2 * (1 - share) / share + 0.13


@given(st.floats(0, 200))
def test_shares_and_variances_go_both_ways(variance):
    assert Sampling(share_with_variance(variance)).variance == pytest.approx(variance, rel=1e-6, abs=1e-6)


@given(shares, st.integers(LOWEST, LOWEST + HASHES - 1))
def test_a_hash_decides(share, row_hash):
    """Each row has one weight, and a smaller share never keeps a row that a greater one drops."""
    weight = Sampling(share).weight_of(row_hash)
    assert weight in (0, Sampling(share).weight - 1, Sampling(share).weight)
    assert not weight or Sampling(min(1.0, share * 1.1)).weight_of(row_hash)
    assert Sampling(1.0).weight_of(row_hash) == 1


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, float("nan")])
def test_a_share_is_one(share):
    with pytest.raises(PlanError, match="above 0 and at most 1"):
        Sampling(share)


def test_shares_that_error_bounds_need_by_value():
    assert needed_share(1e-4, 0.01) == pytest.approx(0.793, abs=5e-4)
    assert needed_share(1e-4, 0.05) == pytest.approx(0.133, abs=5e-4)
    assert needed_share(0.0, 0.01) == needed_integer_share(0.0, 0.01) == 0.0
    # Weights 1 and 2 have a greater variance than 1 / 0.793 would.
    assert needed_integer_share(1e-4, 0.01) == pytest.approx(0.870, abs=5e-4)
    assert needed_integer_share(1e-4, 0.05) == pytest.approx(0.134, abs=5e-4)


@given(st.floats(1e-6, 1e-1), st.floats(1e-3, 0.5))
def test_the_needed_share_meets_the_bound_and_no_smaller_one_does(variance, bound):
    for needed, error in ((needed_integer_share, lambda p: expected_error(p, variance)),
                          (needed_share, lambda p: Z95 * sqrt(variance * (1 - p) / p))):
        share = needed(variance, bound)
        assert error(share) == pytest.approx(bound, rel=1e-6)
        assert error(share * 0.99) > bound
    assert needed_integer_share(variance, bound) >= needed_share(variance, bound) * (1 - 1e-9)


def test_skew_of_values():
    assert skewness_factor(4, 20, 100) == 1 and skewness_factor(2, 10, 100) == 2


def coverage(size: int, weight: int, runs: int = 1500) -> float:
    """How often the interval of a lognormal sum holds the exact one."""
    chance, held = np.random.default_rng(7), 0
    for _ in range(runs):
        values = chance.lognormal(0, 1, size)
        kept = values[chance.random(size) < 1 / weight]
        found = WeightedSums(len(kept), total=weight * kept.sum(),
                             excess_squares=weight * (weight - 1) * (kept**2).sum()).sum()
        held += abs(found.value - values.sum()) <= Z95 * found.error
    return held / runs


def test_intervals_cover_what_they_say_only_of_many_rows():
    """Nominally 95 %; of few skewed rows far less, which is why such intervals are not given."""
    found = {size: [coverage(size, weight) for weight in (2, 4, 10)] for size in (30, 100, 1000)}
    assert min(found[30]) > 0.60 and max(found[30]) < 0.90
    assert min(found[100]) > 0.78 and max(found[100]) < 0.93
    assert min(found[1000]) > 0.92 and max(found[1000]) < 0.97
    assert coverage(4 * FEWEST_KEPT, 4) > 0.93


def test_few_rows_have_no_interval():
    assert Estimate(10.0, 4.0, FEWEST_KEPT - 1).interval() is None
    low, high = Estimate(10.0, 4.0, FEWEST_KEPT).interval()
    assert (low, high) == pytest.approx((10 - 2 * Z95, 10 + 2 * Z95))


def joined(left_weights, right_weights, values) -> list[JoinedPair]:
    """All pairs of rows that both sides keep."""
    return [JoinedPair(a, b, wa, wb, values[a, b]) for a, wa in enumerate(left_weights)
            for b, wb in enumerate(right_weights) if wa and wb and (a, b) in values]


def test_the_variance_of_a_join_by_value():
    """Two by two rows that all match, every second of each side kept: 8 + 8 + 4."""
    assert join_variance(joined((2, 2), (2, 2), dict.fromkeys(product(range(2), repeat=2), 1.0))) == 20


@pytest.mark.parametrize(("left", "right"), [(1 / 2, 1 / 2), (1 / 3, 0.7), (1.0, 1 / 4)])
def test_the_estimate_of_a_join_is_unbiased(left, right):
    """All samples of three rows a side: the sum, its variance, and the estimate of that variance."""
    values = {(0, 0): 1.0, (0, 2): -2.0, (1, 0): 3.0, (1, 1): 0.5, (2, 1): 4.0, (2, 2): 1.5}
    total = square = variance = 0.0
    for (one, p), (two, q) in product(samples(Sampling(left), 3), samples(Sampling(right), 3)):
        estimate, spread = join_estimate(joined(one, two, values))
        total, square, variance = (old + p * q * new for old, new in
                                   ((total, estimate), (square, estimate**2), (variance, spread)))
    assert total == pytest.approx(sum(values.values()))
    assert variance == pytest.approx(square - total**2)


def test_sketches_of_a_join_are_its_variance_on_average():
    """Over all signs of three rows a side, whatever was kept."""
    values = {(0, 0): 1.0, (0, 2): -2.0, (1, 0): 3.0, (1, 1): 0.5, (2, 1): 4.0, (2, 2): 1.5}
    for one, two in (((2, 2, 2), (2, 2, 2)), ((3, 0, 2), (2, 2, 1)), ((1, 1, 1), (4, 4, 0))):
        pairs = joined(one, two, values)
        signs = [dict(enumerate(each)) for each in product((1, -1), repeat=3)]
        found = [join_sketch(pairs, left, right) for left, right in product(signs, repeat=2)]
        assert sum(found) / len(found) == pytest.approx(join_estimate(pairs)[1])


def test_intervals_by_sixteen_sketches_of_a_join_cover_nearly_what_they_say():
    """Lognormal values of 2,000 rows a side and 200 keys, every second row kept: 93 of 100, as of 16 groups."""
    draw, size, sketches, trials = np.random.default_rng(7), 2000, 16, 300
    keys = draw.integers(0, 200, (2, size))
    left, right = np.nonzero(keys[0][:, None] == keys[1][None, :])
    values, hits = draw.lognormal(0, 1, len(left)), 0
    for _ in range(trials):
        kept = draw.random((2, size)) < 0.5
        mine = kept[0][left] & kept[1][right]
        sums = [np.bincount(side[mine], values[mine], size) * 2 * sqrt(2) for side in (left, right)]
        turns = sum(draw.choice((-1.0, 1.0), (sketches, size)) @ each for each in sums)
        variance = (turns**2).mean() - 4 * (values[mine] ** 2).sum()
        hits += abs(4 * values[mine].sum() - values.sum()) <= Z95 * sqrt(variance)
    assert 0.88 <= hits / trials <= 0.97


def test_the_exact_variance_of_a_join_is_that_of_all_samples():
    values = {(0, 0): 1.0, (0, 1): 2.0, (1, 1): 5.0}
    square = total = 0.0
    for (one, p), (two, q) in product(samples(Sampling(1 / 2), 2), samples(Sampling(1 / 3), 2)):
        estimate, _ = join_estimate(joined(one, two, values))
        total, square = total + p * q * estimate, square + p * q * estimate**2
    assert join_variance(joined((2, 2), (3, 3), values)) == pytest.approx(square - total**2)


def test_triggers_long_enough():
    assert shortest_trigger(1.2, 0.4) == pytest.approx(2.0) and shortest_trigger(1.2, 0.4, 0.7) == pytest.approx(4.0)
    assert shortest_trigger(1.2, 1.0) == shortest_trigger(1.2, 0.8, 0.7) == inf
    assert utilisation(shortest_trigger(1.2, 0.4, 0.7), 1.2, 0.4) == pytest.approx(0.7)


def test_what_triggers_take_is_measured():
    """Two seconds each and a second for 1000 rows, 400 of which come a second: U = 0.4, T* = 2 / 0.6."""
    triggers = [(2 + rows / 1000, rows) for rows in (500, 1000, 2000, 4000)]
    load = measure_triggers(triggers, 7500 / 400)
    assert load.fixed == pytest.approx(2) and load.rows == pytest.approx(0.4)
    assert load.shortest == pytest.approx(2 / 0.6)
    assert measure_triggers(triggers, 7.5).shortest == inf, "rows alone take all of the time"
    assert measure_triggers([(2.0, 100)] * 5, 20) == TriggerLoad(2.0, 0.0), "of triggers alike all counts as fixed"
    assert measure_triggers(triggers[:2], 10) is None
