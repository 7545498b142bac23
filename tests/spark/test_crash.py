"""A stream that is killed answers every window once; `make crash` does so many times more."""

from __future__ import annotations

from functools import partial

import pytest

from tests.crash.child import finish
from tests.crash.run import crash

pytestmark = pytest.mark.long


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(("workload", "kills"), [("folded", 1), ("bags", 1), ("joined", 1), ("shedding", 1)])
def test_a_killed_stream_answers_once(spark, tmp_path, workload, kills):
    """The session of the tests goes on where the killed processes were: Java need not start once more."""
    outcome = crash(tmp_path / "crash", kills=kills, seed=7, say=print, workload=workload,
                    finish=partial(finish, spark))
    assert outcome.ok, outcome.to_dict()
    assert len(outcome.kills) == kills
