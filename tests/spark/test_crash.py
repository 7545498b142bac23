"""A stream that is killed answers every window once; `make crash` does so many times more."""

from __future__ import annotations

import pytest

from weft.testing.crash.run import crash

pytestmark = pytest.mark.long


def test_a_killed_stream_answers_once(tmp_path):
    outcome = crash(tmp_path / "crash", kills=2, seed=7, say=print)
    assert outcome.ok, outcome.to_dict()
    assert len(outcome.kills) == 2
