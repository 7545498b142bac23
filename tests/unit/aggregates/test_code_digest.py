"""The digest of a user's code: the same in every process, and another one for other code."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import pytest

from tests.strategies.aggregates import Longest, Parity, Spread, Weighted
from tests.strategies.extensions import product, regr_count
from weft import RunError, TrackClusterCenters
from weft.aggregates import Argument
from weft.aggregates.code_digest import code_digest, own_code
from weft.aggregates.defined import define, lower_defined
from weft.aggregates.monoids.merge import merge_values
from weft.model.window import Window
from weft.spark.incremental.fingerprint import own_merges
from weft.spark.refresh.kept_answers import UNKNOWN_CODE, KeptAnswers, stage_meaning, why_strange

TEXT = """
from __future__ import annotations
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
import re
import numpy as np
from weft import PlainAggregate
import helpers_of_user as helpers

SCALE, NAMES, WORD = 2.0, frozenset({"a", "b", "c"}), re.compile("x+")

@lru_cache
def twice(x):
    return helpers.scaled(x) if WORD else x

@dataclass
class Best(PlainAggregate):
    k: int = 1
    name, takes, returns, commutative, identity = "best", ("double",), "double", True, 0.0
    also = partial(max, 3)

    @cached_property
    def rest(self):
        return [x for x in NAMES]

    def lift(self, x):
        return np.float64(x)

    def combine(self, a, b):
        return max(a, b) if b not in {1.5, 2.5} else a

    def lower(self, state, by=1.0):
        return twice(state) * SCALE * by * self.k

    @staticmethod
    def same():
        return Best
"""
HELPERS = "FACTOR = 3\ndef scaled(x):\n    return x * FACTOR\n"


def made(text=TEXT, helpers=HELPERS, **parameters):
    """An instance of the class that two modules of a user hold."""
    one, other = ModuleType("helpers_of_user"), ModuleType("code_of_user")
    sys.modules[one.__name__], sys.modules[other.__name__] = one, other
    exec(helpers, vars(one))
    exec(text, vars(other))
    return other.Best(**parameters)


def test_the_same_code_has_the_same_digest():
    """However often it ran, and wherever its lines stand."""
    first = made()
    assert code_digest(first) == code_digest(made("\n# a remark\n" + TEXT)) is not None
    for _ in range(10_000):
        first.combine(1.0, 2.0)
    assert first.lower(1.0) == 6.0 and code_digest(first) == code_digest(made())


@pytest.mark.parametrize(("old", "new"), [
    ("* SCALE", "+ SCALE"), ("SCALE, NAMES, WORD = 2.0", "SCALE, NAMES, WORD = 2.5"), ('"b", "c"', '"b"'),
    ("by=1.0", "by=1.1"), ("max(a, b)", "min(a, b)"), ("1.5, 2.5", "1.5"), ("else a", "else b"), ('"x+"', '"x*"'),
    ("partial(max, 3)", "partial(max, 4)"), ('"double", True, 0.0', '"double", True, 1.0'),
])
def test_other_code_has_another_digest(old, new):
    assert old in TEXT
    assert code_digest(made(TEXT.replace(old, new))) not in (code_digest(made()), None)


def test_what_it_uses_elsewhere_and_its_parameters_count():
    before = code_digest(made())
    assert code_digest(made(helpers=HELPERS.replace("3", "4"))) != before
    assert code_digest(made(helpers=HELPERS.replace("x *", "x -"))) != before
    assert code_digest(made(k=2)) != before == code_digest(made(k=1))
    assert code_digest(made(helpers=HELPERS + "UNUSED = 1\n")) == before


def test_another_process_finds_the_same_digest():
    """Whatever its seed of hashes, compiled from text or read from a cached file."""
    code = ("from tests.unit.aggregates.test_code_digest import made; from weft.aggregates.code_digest import "
            "code_digest; from tests.strategies.aggregates import Longest; print(code_digest(made()), "
            "code_digest(Longest()))")
    path = ":".join(sys.path)
    found = {subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": seed, "PYTHONPATH": path}, text=True,
                            capture_output=True, check=True).stdout for seed in ("1", "2")}
    assert found == {f"{code_digest(made())} {code_digest(Longest())}\n"}


def test_aggregates_of_all_kinds_have_digests_of_their_own():
    some = (Spread(), Weighted(), Parity(), Longest(), TrackClusterCenters([(0.0, 1.0)]),
            TrackClusterCenters([(0.0, 2.0)]))
    assert len({code_digest(each) for each in some} - {None}) == len(some)


def test_what_cannot_be_told_has_none():
    aggregate = made()
    aggregate.lock = threading.Lock()
    assert code_digest(aggregate) is None


def meaning_of(aggregate):
    """The meaning of an answer stage that calls an aggregate and no other."""
    components = lower_defined(define(aggregate), (Argument("x", "double"),), "").components
    stage = SimpleNamespace(components=components, outputs=(), calls=(), having=None, window=Window(10, 5).slide)
    return stage_meaning(SimpleNamespace(meaning="slices"), stage, ())


def test_rows_of_another_version_of_an_aggregate_are_made_anew(tmp_path):
    """Buckets of the old code and of the new would else stand side by side."""
    assert meaning_of(made()) == meaning_of(made()) != meaning_of(made(TEXT.replace("* SCALE", "+ SCALE")))
    aggregate = made()
    aggregate.lock = threading.Lock()
    kept = KeptAnswers("run", meaning_of(aggregate), "epoch", 1, 10, {})
    assert why_strange(str(tmp_path), kept, meaning_of(aggregate)) == UNKNOWN_CODE


def stage_of(*aggregates):
    """A partial stage with the components of calls."""
    x = Argument("x", "double")
    return SimpleNamespace(source="s", components=tuple(
        component for each in aggregates for component in each.lower((x,) * each.arity[0], "").components))


def test_slices_mean_what_they_are_merged_by():
    """Spark alone makes those that are never merged, and Weft's own monoids count by name."""
    stage = stage_of(product())
    assert own_merges(stage) == own_merges(stage_of(product())) == own_code(stage.components) != [None]
    assert own_merges(stage_of(regr_count(), define(Spread()).function)) == []
    mine = stage.components[0]
    spoiled = [replace(mine, monoid=replace(mine.monoid, merge=merge_values(threading.Lock().acquire)))]
    with pytest.raises(RunError, match="a monoid of your own that uses what Weft cannot compare"):
        own_merges(SimpleNamespace(source="s", components=spoiled))
