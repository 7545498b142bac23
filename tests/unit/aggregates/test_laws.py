"""The laws of user-defined aggregates: who keeps them is taken, who breaks one is shown a counterexample."""

from __future__ import annotations

import numpy as np
import pytest

from tests.strategies.aggregates import Longest, Parity, Spread, Weighted
from weft import AggregateError, PlainAggregate, TrackClusterCenters, UserAggregate
from weft.aggregates.defined import define
from weft.aggregates.examples import example_columns
from weft.aggregates.laws import check_laws
from weft.testing.laws import assert_laws


class Sum(UserAggregate):
    """A sum of doubles, to be broken."""

    name, takes, returns = "total", ("double",), "double"
    fields, identity, ufunc, commutative = ("float64",), (0.0,), np.add, True

    def lift(self, x):
        return (x,)

    def lower(self, state):
        return state[0]


class Mean(Sum):
    ufunc = None

    def combine(self, a, b):
        return ((a[0] + b[0]) / 2,)


class LastWins(Sum):
    ufunc, identity = None, (np.nan,)

    def combine(self, a, b):
        return (np.where(np.isnan(b[0]), a[0], b[0]),)


class FromOne(Sum):
    identity = (1.0,)


class TwiceIsOnce(Sum):
    idempotent = True


class Picks(Sum):
    selective = True


class TakesAway(Sum):
    exact = True

    def inverse(self, a, b):
        return (a[0] - b[0],)


class Forgets(TakesAway):
    exact = False

    def inverse(self, a, b):
        return (a[0],)


class Centred(Sum):
    def lift(self, x):
        return (x - x.mean(),)


class Share(Sum):
    def lower(self, state):
        return state[0] / state[0].sum()


class TwoWays(Sum):
    def combine(self, a, b):
        return (np.maximum(a[0], b[0]),)


class InPlace(PlainAggregate):
    name, takes, returns, commutative = "gathered", ("double",), "double", True
    identity = ()

    def lift(self, x):
        return [x]

    def combine(self, a, b):
        a = a if isinstance(a, list) else list(a)
        a.extend(b)
        return a

    def lower(self, state):
        return float(sum(state))


class Rounds(Sum):
    def lower(self, state):
        return np.where(state[0] > 0, "many", "none")


class Divides(Spread):
    def lower(self, state):
        return state[1] / state[0]


class Narrow(Sum):
    ufunc = None

    def combine(self, a, b):
        return ((a[0] + b[0]).astype("float32"),)


BROKEN = [
    (Mean, "'associative', combine(combine(a, b), c) = combine(a, combine(b, c)): with a = "),
    (LastWins, "'commutative', combine(a, b) = combine(b, a): with a = "),
    (FromOne, "'identity', combine(identity, a) = a: with a = "),
    (TwiceIsOnce, "'idempotent', combine(a, a) = a: with a = "),
    (Picks, "'selective', combine(a, b) is a or b: with a = "),
    (TakesAway, "'inverse', inverse(combine(a, b), b) = a: with a = "),
    (Forgets, "'inverse', inverse(combine(a, b), b) = a: with a = "),
    (Centred, "'lift', a row's state depends on that row alone"),
    (Share, "'lower', lower(state) depends on that state alone"),
    (TwoWays, "'ufunc', combine does what the ufunc does to each field: combine gives "),
    (InPlace, "'combine', combine leaves its arguments unchanged"),
]
FAILING = [
    (Rounds, "lower (or reading its answers as double) failed on example values"),
    (Divides, "lower (or reading its answers as double) failed on example values: TypeError"),
    (Narrow, "combine gave fields of (float32), not of (float64)"),
]
SOUND = [Spread(), Weighted(), Parity(), Longest(), Sum(), TrackClusterCenters([(0.0,), (10.0,), (3.0,)]),
         TrackClusterCenters([(0.0, 0.0, 5.0), (9.0, 1.0, 0.0)])]


def check(aggregate):
    definition = define(aggregate)
    check_laws(definition, example_columns(definition))


@pytest.mark.parametrize("aggregate", SOUND, ids=lambda a: a.name)
def test_sound_aggregates_keep_the_laws(aggregate):
    check(aggregate)
    assert_laws(aggregate, most=12, cases=20)


@pytest.mark.parametrize(("broken", "sentence"), BROKEN, ids=lambda v: getattr(v, "name", None))
def test_a_broken_law_is_shown_with_a_counterexample(broken, sentence):
    with pytest.raises(AggregateError) as raised:
        check(broken())
    assert str(raised.value).startswith(f"aggregate '{broken.name}': it breaks the law {sentence}")


@pytest.mark.parametrize(("failing", "sentence"), FAILING, ids=lambda v: getattr(v, "name", None))
def test_what_fails_on_examples_is_told(failing, sentence):
    with pytest.raises(AggregateError) as raised:
        check(failing())
    assert sentence in str(raised.value)


@pytest.mark.parametrize("broken", [Mean, TwiceIsOnce, Forgets, Centred])
def test_a_user_s_own_suite_finds_broken_laws(broken):
    with pytest.raises(AggregateError, match="breaks the law"):
        assert_laws(broken(), cases=20)


def test_the_counterexample_is_the_two_sides():
    with pytest.raises(AggregateError) as raised:
        check(TwiceIsOnce())
    a, once, twice = (float(word.rstrip(".")) for word in str(raised.value).split() if is_number(word))
    assert once == 2 * a and twice == a


def is_number(word):
    try:
        return np.isfinite(float(word.rstrip(".")))
    except ValueError:
        return False


def test_examples_stand_for_values_that_make_sense():
    class Logs(Sum):
        name = "logs"

        def lift(self, x):
            if (x <= 0).any():
                raise ValueError("a logarithm of nothing")
            return (np.log(x),)

    class Positive(Logs):
        examples = tuple((float(i),) for i in range(1, 20))

    with pytest.raises(AggregateError, match=r"lift failed on example values: ValueError: a logarithm .* `examples`"):
        check(Logs())
    check(Positive())
    assert_laws(Positive(), cases=10)


DECLARED = [
    ({"name": "a b"}, "it has no name that SQL can call"),
    ({"name": ""}, "it has no name that SQL can call"),
    ({"takes": ()}, "it does not say what it takes"),
    ({"takes": ("doubel",)}, "'doubel' is no type that Weft knows"),
    ({"returns": ""}, "it does not say what it returns"),
    ({"returns": "struct<a>"}, "'a' is no field of a struct"),
    ({"commutative": False}, "it is not declared commutative, and Spark's rows have no order"),
    ({"identity": (0.0, 1)}, "it has 1 fields and an identity of 2 values"),
    ({"identity": None}, "its fields or its identity are not what they must be"),
    ({"fields": ("flat64",)}, "its fields or its identity are not what they must be"),
    ({"partials": ("sum({0})", "count({0})")}, "it has 1 fields and 2 partials"),
    ({"partials": ("sum({1})",)}, "refers to an argument that there is not"),
    ({"partials": ("sum({0)",)}, "cannot be read"),
]


@pytest.mark.parametrize(("changed", "sentence"), DECLARED, ids=lambda v: v if isinstance(v, str) else None)
def test_a_declaration_that_is_wrong_is_named(changed, sentence):
    aggregate = Sum()
    for name, value in changed.items():
        setattr(aggregate, name, value)
    with pytest.raises(AggregateError) as raised:
        define(aggregate)
    assert sentence in str(raised.value)


def test_a_class_is_no_aggregate_but_its_instance_is():
    with pytest.raises(AggregateError, match=r"Give an instance: Sum\(\)"):
        define(Sum)
    with pytest.raises(AggregateError, match=r"Derive it from weft\.UserAggregate"):
        define(object())
