"""Random cases of the fuzzer: queries of every kind in random settings, run in every way, give Spark's own rows.

`make fuzz` runs it for as long as one likes, and makes a failure smaller.
"""

from __future__ import annotations

import random

import pytest

from tests.fuzz.check import EQUAL, check
from tests.fuzz.draw import draw_case
from tests.fuzz.script import shown

SEED = 12
# How many cases of each kind are drawn unless `--cases` says otherwise; streams take longest.
CASES = {"batch": 8, "sink": 2, "incremental": 2, "stream": 2}
MORE = 2  # so many times as many with --all


@pytest.mark.parametrize("kind", CASES)
def test_random_cases_give_sparks_own_rows(spark, request, kind):
    config = request.config
    wanted = CASES[kind] * config.getoption("--cases") / 100 * (MORE if config.getoption("--all") else 1)
    seed = random.randrange(10**6) if config.getoption("--random") else SEED
    found, compared = [], 0
    for number in range(max(1, round(wanted))):
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
