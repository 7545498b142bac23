"""What is added from outside keeps the family's contract, and what cannot be is refused with a sentence."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from pyspark import cloudpickle

from tests.strategies.extensions import pairwise_tree, product
from weft.aggregates.component import ROWS, Component
from weft.aggregates.monoids import MONOIDS, find_monoid
from weft.errors import PlanError
from weft.extend import Algorithm, Argument, Monoid
from weft.final.algorithms import ALGORITHMS, recalc
from weft.final.bags import find_kernel
from weft.final.choose import answered_by, assign, folding, forced_pairs, read_by
from weft.testing.algorithms import SliceStream, assert_same, cells_for, run_stream

HIGH = Component("max", ("max(x)",), "double")


def product_component() -> Component:
    """The component of a call of product()."""
    return product().lower((Argument("x", "double"),), "").components[0]


@pytest.mark.parametrize("name", ["add", "max", "moments"])
def test_an_algorithm_from_outside_keeps_the_contract(name):
    operation, mine = find_monoid(name).operation, pairwise_tree()
    times = (np.arange(0, 90, 2), np.array([3, 4, 50]))
    cells = cells_for(operation, np.float64, 48, 7)
    stream = SliceStream(cells, times, (5, 30), 3)
    assert_same(operation, run_stream(mine, operation, stream), run_stream(recalc, operation, stream), cells)
    for got, want in zip(mine.slide(operation, cells, [1, 2, 7], 40), recalc.slide(operation, cells, [1, 2, 7], 40),
                         strict=True):
        assert_same(operation, got, want, cells)


def test_a_forced_value_is_what_folds_in_batches_and_streams():
    mine = pairwise_tree()
    forced = forced_pairs({"max": mine})
    assert assign(HIGH, [10], forced) is mine
    assert answered_by(HIGH, [10], forced) == read_by(HIGH, [10], forced) == "pairwise_tree"
    sent = cloudpickle.loads(cloudpickle.dumps(forced))[0][1]
    assert sent.card.name == "pairwise_tree" and sent is not mine


@pytest.mark.parametrize(("wanted", "said"), [
    (pairwise_tree("recalc"), "'recalc' is the name of one of Weft's algorithms"),
    (42, "42 is no algorithm"),
])
def test_what_passes_for_an_algorithm_is_refused(wanted, said):
    with pytest.raises(PlanError, match=said):
        forced_pairs(wanted)


def test_every_algorithm_has_the_one_interface():
    """Batches call `slide` and streams `read`, of all alike; the card says what a stream may choose."""
    assert all(isinstance(algorithm, Algorithm) for algorithm in ALGORITHMS)
    assert {a.card.name for a in ALGORITHMS if a.card.ragged} == {"prefix", "doubling", "disjoint", "recalc"}


def test_a_monoid_from_outside_travels_by_value_and_weft_s_own_by_name():
    component = product_component()
    sent = cloudpickle.loads(cloudpickle.dumps(component))
    assert sent == component and sent.monoid is not component.monoid
    assert folding(sent)[0].combine((np.array([3.0]),), (np.array([4.0]),))[0] == [12.0]
    assert all(pickle.loads(pickle.dumps(monoid)) is monoid for monoid in MONOIDS)
    assert len(pickle.dumps(ROWS)) < 500


@pytest.mark.parametrize(("monoid", "said"), [
    ("moments5", "there is no monoid 'moments5': did you mean 'moments'?"),
    ("quux", "the monoids are count, add, decimal_sum"),
    (Monoid("add"), "'add' is the name of one of Weft's monoids"),
])
def test_an_unknown_monoid_is_refused_where_a_component_is_made(monoid, said):
    with pytest.raises(PlanError) as refused:
        Component(monoid, ("sum(x)",), "double")
    assert said in str(refused.value)


def test_a_monoid_that_nothing_answers_is_refused_by_the_plan():
    with pytest.raises(PlanError, match=r"nothing folds sum\(x\): the monoid 'half' has no operation"):
        answered_by(Component(Monoid("half"), ("sum(x)",), "double"), [3], ())
    with pytest.raises(PlanError, match="the monoid 'sack' keeps bags and no kernel answers from them"):
        answered_by(Component(Monoid("sack", bag=True), ("collect_list(x)",), "double"), [3], ())


@pytest.mark.parametrize("monoid", MONOIDS, ids=str)
def test_every_monoid_can_be_answered(monoid):
    """One that folds encodes slices and merges them in a worker; one of bags has a kernel and merges in Spark."""
    if monoid.bag:
        assert find_kernel(monoid).monoid == monoid.name and monoid.merges
    else:
        assert monoid.operation and monoid.encode and monoid.merge
