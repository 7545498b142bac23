"""Choosing an algorithm: the cheapest of the legal ones, whatever the figures say, or the one that is forced."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.aggregates.component import ROWS, Component
from weft.aggregates.operation import ADD, BIT_XOR, COMOMENTS, MAX, MIN, MOMENTS
from weft.cost.calibration_table import CalibrationTable, default_figures, kind_of
from weft.errors import PlanError
from weft.final import choose as module
from weft.final.algorithms import ALGORITHMS, recalc
from weft.final.algorithms.base import LINEAR, TABLED
from weft.final.choose import BY_NAME, UNCOMPILED, assign, choose, find_algorithm, folding, forced_pairs

INT, REAL, SINGLE = (np.dtype(np.int64),), (np.dtype(np.float64),), (np.dtype(np.float32),)
FOLDED = [(ADD, INT), (ADD, REAL), (ADD, SINGLE), (MIN, REAL), (MAX, INT), (BIT_XOR, INT), (MOMENTS, REAL * 3),
          (COMOMENTS, REAL * 6)]
RANGES = st.lists(st.integers(1, 200_000), min_size=1, max_size=6, unique=True).map(sorted)
SUM = Component("add", ("sum(price)",), "double")
WHOLE = Component("add", ("sum(volume)",), "bigint")
HIGH = Component("max", ("max(price)",), "double")


def label(value) -> str:
    """A monoid and its types in an identifier."""
    return getattr(value, "name", None) or "-".join(dict.fromkeys(getattr(v, "name", str(v)) for v in value))


@st.composite
def priced(draw: st.DrawFn) -> CalibrationTable:
    """Figures in which any algorithm may be the cheapest, or not measured."""
    kinds = ("add int64", "add float64", "max int64", "max float64", "moments", "comoments")
    prices = st.floats(0.001, 1000.0)
    names = draw(st.lists(st.sampled_from(sorted(BY_NAME)), min_size=1, unique=True))
    answer = {name: {kind: ((16, 1, draw(prices)),) for kind in kinds} for name in names}
    return CalibrationTable({name: draw(st.sampled_from([0.0, 0.5])) for name in names}, answer, 0.2)


def legal(monoid, types, ranges):
    return [a for a in ALGORITHMS if a.missing is None and a.supports(monoid, types, ranges) is None]


@pytest.mark.parametrize(("monoid", "types"), FOLDED, ids=label)
@given(figures=priced(), ranges=RANGES, cells=st.sampled_from([1, 1000, 10**9]))
def test_the_cheapest_legal_algorithm_is_chosen(monoid, types, figures, ranges, cells):
    chosen, allowed = choose(monoid, types, ranges, cells, figures), legal(monoid, types, ranges)
    assert chosen in allowed
    costs = {a.card.name: figures.seconds(a.card.name, kind_of(monoid, types), ranges, cells) for a in allowed}
    known = [cost for cost in costs.values() if cost is not None]
    assert not known or costs[chosen.card.name] == min(known)


@pytest.mark.parametrize("types", [REAL, SINGLE])
@given(figures=priced(), ranges=RANGES)
def test_sums_of_doubles_are_never_subtracted_from(types, figures, ranges):
    assert "invertible" not in choose(ADD, types, ranges, figures=figures).card.needs


@pytest.mark.parametrize("types", [REAL, SINGLE])
def test_sums_of_doubles_are_not_subtracted_from_though_it_were_free(types):
    free = {a.card.name: {"add float64": ((16, 1, 1e-9),)} for a in ALGORITHMS if "invertible" in a.card.needs}
    dear = {"recalc": {"add float64": ((16, 1, 1e9),)}}
    assert choose(ADD, types, [60], figures=CalibrationTable({}, free | dear, 0.2)) is recalc


@pytest.mark.parametrize("folded", [(ADD, REAL), (MOMENTS, REAL * 5), (COMOMENTS, REAL * 6)], ids=label)
@given(figures=priced(), longest=st.integers(LINEAR + 1, 10**7), more=st.lists(st.integers(1, LINEAR), max_size=3))
def test_long_windows_of_doubles_are_folded_as_trees(folded, figures, longest, more):
    assert choose(*folded, [*sorted(set(more)), longest], figures=figures).card.depth == "log"


def test_up_to_the_bound_doubles_may_be_added_one_after_another():
    cheap = CalibrationTable({}, {"recalc": {"add float64": ((16, 1, 1e-9),)}}, 0.2)
    assert choose(ADD, REAL, [LINEAR], figures=cheap) is recalc
    assert choose(ADD, REAL, [LINEAR + 1], figures=cheap) is not recalc
    assert choose(ADD, INT, [LINEAR + 1],
                  figures=CalibrationTable({}, {"recalc": {"add int64": ((1, 1, 1.0),)}}, 1.0)) is recalc


@pytest.mark.parametrize(("monoid", "types"), FOLDED, ids=label)
@given(figures=priced(), longest=st.integers(TABLED + 1, 10**8))
def test_very_long_windows_get_no_tables(monoid, types, figures, longest):
    assert choose(monoid, types, [longest], figures=figures).card.longest is None
    assert choose(monoid, types, [1, longest], figures=figures, among=UNCOMPILED).card.longest is None


@given(figures=priced(), ranges=st.lists(st.integers(1, 99), min_size=2, max_size=5, unique=True).map(sorted))
def test_several_ranges_are_served_by_one_that_serves_several(figures, ranges):
    assert choose(MAX, INT, ranges, figures=figures).card.multi is not None


def test_start_up_is_paid_where_there_is_enough_to_do():
    figures = CalibrationTable({"two_stacks": 1.0}, {"two_stacks": {"add float64": ((16, 1, 1.0),)},
                                                     "chain": {"add float64": ((16, 1, 2.0),)}}, 0.2)
    if BY_NAME["two_stacks"].missing is None:
        assert choose(ADD, REAL, [16], 10**10, figures).card.name == "two_stacks"
    assert choose(ADD, REAL, [16], 10**6, figures).card.name == "chain"


def test_what_is_not_here_is_not_chosen(monkeypatch):
    monkeypatch.setattr("weft.final.algorithms.jit.find_spec", lambda name: None)
    cheap = CalibrationTable({}, {"two_stacks": {"add int64": ((16, 1, 1e-9),)},
                                  "chain": {"add int64": ((16, 1, 9.0),)}}, 0.2)
    assert choose(ADD, INT, [16], figures=cheap).card.name == "chain"


def test_plans_do_not_compile_unless_forced(monkeypatch):
    cheap = CalibrationTable({}, {a.card.name: {"max float64": ((16, 1, 1e-9 if a.card.engine == "numba" else 9.0),)}
                                  for a in ALGORITHMS}, 0.2)
    monkeypatch.setattr(module, "current_figures", lambda: cheap)
    assert assign(HIGH, [10], ()).card.engine == "numpy"


@pytest.mark.parametrize(("component", "monoid", "types"), [
    (ROWS, ADD, INT), (SUM, ADD, REAL), (WHOLE, ADD, INT), (HIGH, MAX, REAL),
    (Component("decimal_sum", ("sum(d)", "count(d)"), "decimal(20,2)"), ADD, INT),
    (Component("mean", ("sum(d)", "count(d)"), "decimal(20,6)"), ADD, INT),
    (Component("min", ("min(name)",), "string"), MIN, INT),
    (Component("max_by", ("a", "b"), "double"), MAX, INT),
    (Component("moments", ("n", "mean", "m2"), "double"), MOMENTS, REAL * 3),
    (Component("comoments", tuple("abcdef"), "double"), COMOMENTS, REAL * 6),
])
def test_what_folds_a_component(component, monoid, types):
    assert folding(component) == (monoid, types)


def test_one_name_is_forced_for_all_functions_or_one_for_each():
    assert forced_pairs(None) == () and forced_pairs("chain") == (("*", "chain"),)
    forced = forced_pairs({"max": "doubling", "*": "chain"})
    assert assign(HIGH, [10], forced).card.name == "doubling" and assign(SUM, [10], forced).card.name == "chain"
    assert assign(SUM, [10], forced_pairs({"max": "doubling"})).card.name == chosen_alone(SUM)


def chosen_alone(component: Component) -> str:
    return assign(component, [10], ()).card.name


@pytest.mark.parametrize(("wanted", "said"), [
    ("slik_deque", "there is no algorithm 'slik_deque': did you mean 'slick_deque'?"),
    ({"max": "dubbling"}, "did you mean 'doubling'?"),
    ("", "the algorithms are prefix, doubling, chain"),
    ({"sum": "chain"}, "cannot force 'chain' for 'sum': did you mean 'add'?"),
    ({"stddev": "chain"}, "did you mean 'moments'?"),
    ({"maxx": "chain"}, "did you mean 'max'?"),
    ({"quux": "chain"}, "the functions are add, min, max, bit_and, bit_or, bit_xor, moments, comoments."),
])
def test_names_that_there_are_not_are_refused(wanted, said):
    with pytest.raises(PlanError) as refused:
        forced_pairs(wanted)
    assert said in str(refused.value)


def test_every_algorithm_is_found_by_its_name():
    assert [find_algorithm(a.card.name) for a in ALGORITHMS] == list(ALGORITHMS)


@pytest.mark.parametrize(("name", "component", "ranges", "said"), [
    ("prefix", SUM, [10], "subtracts what leaves a window, which is not exact for add of float64"),
    ("panes_inv", SUM, [10], "subtracts what leaves a window"),
    ("slick_deque", WHOLE, [10], "needs a selective function, and add of int64 is not selective"),
    ("doubling", WHOLE, [10], "needs an idempotent function"),
    ("two_stacks", WHOLE, [10, 20], "serves one range, not 2"),
    ("recalc", SUM, [LINEAR + 1], f"it may serve up to {LINEAR}"),
    ("chain", WHOLE, [TABLED + 1], f"up to {TABLED} slices, not {TABLED + 1}"),
])
def test_illegal_pairs_are_refused_with_a_sentence(name, component, ranges, said):
    with pytest.raises(PlanError) as refused:
        assign(component, ranges, forced_pairs(name))
    text = str(refused.value)
    assert text.startswith(f"'{name}' cannot fold {component}: ") and said in text
    monoid = component.monoid
    best = assign(component, ranges, ()).card.name
    assert text.endswith(f"For {monoid}, '{best}' would be the cheapest; leave the algorithm out and Weft chooses it.")


def test_a_compiled_algorithm_without_numba_is_refused(monkeypatch):
    monkeypatch.setattr("weft.final.algorithms.jit.find_spec", lambda name: None)
    with pytest.raises(PlanError, match=r"'daba' cannot fold max\(price\): .*install weft-spark\[jit\] on"):
        assign(HIGH, [10], forced_pairs("daba"))


@pytest.mark.parametrize(("monoid", "types"), FOLDED, ids=label)
@pytest.mark.parametrize("longest", [1, 10, 240, LINEAR, LINEAR + 1, TABLED, TABLED + 1, 10**7])
def test_the_shipped_figures_choose_something_sensible(monoid, types, longest):
    """Never the naive one for a window that is not short."""
    chosen = choose(monoid, types, [longest], figures=default_figures(), among=UNCOMPILED)
    assert chosen is not recalc or longest <= 10
