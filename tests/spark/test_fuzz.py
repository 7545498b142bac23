"""Random cases of the fuzzer: queries of every kind in random settings, run in every way, give Spark's own rows.

`make fuzz` runs it for as long as one likes, and makes a failure smaller.
"""

from __future__ import annotations

import random

import pytest

from tests.fixtures.order import STOCK
from tests.fuzz.check import EQUAL, check
from tests.fuzz.draw import draw_case
from tests.fuzz.script import shown

SEED = 12
# How many cases of each kind are drawn unless `--cases` says otherwise; streams take longest.
CASES = {"batch": 8, "sink": 2, "incremental": 2, "stream": 2}
SPARE = 4  # so many more where both engines refuse all queries of those


@pytest.mark.parametrize("kind", CASES)
def test_random_cases_give_sparks_own_rows(spark, request, kind):
    config = request.config
    wanted = max(1, round(CASES[kind] * config.getoption("--cases") / 100))
    # With --all each session has cases of its own.
    first = wanted if config.getoption("--all") and request.node.callspec.params["spark"] == STOCK else 0
    seed = random.randrange(10**6) if config.getoption("--random") else SEED
    found, compared = [], 0
    for number in range(first, first + wanted + SPARE):
        if compared and number >= first + wanted:
            break
        case = draw_case(seed, number, kind)
        verdicts = check(spark, case)
        compared += sum(verdict.outcome == EQUAL for verdict in verdicts)
        found += [f"{again(seed, number, kind)}\n{verdict.outcome}\n{shown(case, verdict)}"
                  for verdict in verdicts if verdict.failed]
    assert not found, "\n\n".join(found)
    assert compared


def again(seed: int, number: int, kind: str) -> str:
    """The command that runs a case again and makes it smaller."""
    return f'make fuzz ARGS="--seed {seed} --first {number} --cases 1 --kinds {kind}"'
