"""How joins are made: 004's order where there are three streams, bins where keys have many rows."""

from __future__ import annotations

import pytest

from weft.model.join import SECOND, Join, JoinInput, JoinKey, TimeBound, plain_method
from weft.optimize.join_method import InputSample, KeyShares, choose_join_method, matching

MIN = 60 * SECOND
HOUR = 3600.0 * SECOND


def stream(name: str, time: str | None = "ts") -> JoinInput:
    """An input with a time and a key."""
    return JoinInput(name, name, time, (("ts", f"{name}.ts"), ("k", f"{name}.k")))


def key(left: int, right: int) -> JoinKey:
    """An equality between two inputs."""
    return JoinKey(left, right, f"`{'abcd'[left]}.k`", f"`{'abcd'[right]}.k`")


def near(one: int, other: int, micros: int) -> tuple[TimeBound, TimeBound]:
    """Two inputs that are at most so far apart."""
    return TimeBound(one, other, micros), TimeBound(other, one, micros)


def sample(rows: float, shares: dict[int, dict[int, float]], others: float = 0.0) -> InputSample:
    """An input of ten hours."""
    return InputSample(rows, 10 * HOUR, {number: KeyShares(each, others) for number, each in shares.items()})


PAIR = Join((stream("a"), stream("b")), (key(0, 1),), near(0, 1, MIN))
HOT = {1: 0.5, 2: 0.5}


def test_a_pair_matches_as_often_as_its_keys_are_common():
    """Common keys by their shares, rare ones as if all were equally common."""
    one, other = sample(100, {1: {1: 0.5, 2: 0.25}}, others=10), sample(100, {0: {1: 0.5, 3: 0.1}}, others=20)
    assert matching([one, other], 0, 1) == pytest.approx(0.25 + 0.25 * 0.4 / 20)


def test_hot_keys_are_joined_in_bins():
    """As wide as both bounds together; the smaller side lies in two of them."""
    method = choose_join_method(PAIR, [sample(1e6, {1: HOT}), sample(1e5, {0: HOT})])
    (step,) = method.steps
    assert (step.partner, step.bin, step.copied) == (0, 2 * MIN, True)
    (other,) = choose_join_method(PAIR, [sample(1e5, {1: HOT}), sample(1e6, {0: HOT})]).steps
    assert not other.copied


def test_cool_keys_are_joined_without_bins():
    """A key with a few rows has few pairs, however many keys there are; so has a key within bounds of hours."""
    cool = choose_join_method(PAIR, [sample(1e6, {1: {}}, others=1e5), sample(1e6, {0: {}}, others=1e5)])
    assert [step.bin for step in cool.steps] == [0]
    wide = Join(PAIR.inputs, PAIR.keys, near(0, 1, int(6 * HOUR)))
    assert choose_join_method(wide, [sample(1e6, {1: HOT}), sample(1e6, {0: HOT})]).steps[0].bin == 0


def test_tables_have_no_bins():
    """A table has no time."""
    join = Join((stream("a"), stream("b", None)), (key(0, 1),), ())
    assert choose_join_method(join, [sample(1e6, {1: HOT}), sample(1e5, {0: HOT})]).steps[0].bin == 0


def test_three_streams_are_joined_in_004s_order():
    """The pair that gives least rows first; a table when a key links it."""
    inputs = (stream("a"), stream("b"), stream("c"), stream("d", None))
    join = Join(inputs, (key(0, 1), key(1, 2), key(0, 3)), (*near(0, 1, MIN), *near(1, 2, MIN)))
    few, many = dict.fromkeys(range(1000), 1 / 1000), {1: 1.0}
    samples = [sample(1e6, {1: many, 3: few}), sample(1e6, {0: many, 2: few}), sample(1e3, {1: few}),
               sample(10, {0: few})]
    method = choose_join_method(join, samples)
    assert method.order in ((1, 2, 0, 3), (2, 1, 0, 3))
    assert "sampled" in method.reason
    assert plain_method(join).order == (0, 1, 2, 3)


def test_empty_inputs_have_a_method():
    """Nothing is known of them, and nothing breaks."""
    nothing = InputSample(0.0, 0.0, {})
    assert choose_join_method(PAIR, [nothing, nothing]).order == (0, 1)
