"""Weaving a stream's queries anew by itself: when, what is told of it, and where it is of no use."""

from __future__ import annotations

from math import inf

import pytest

from weft.errors import RunError, StreamWarning
from weft.loom.weaver import Weaver, require_tolerance
from weft.model.live_change import LiveChange


class Woven:
    """A stream that drifts, and is woven anew to no drift, or fails."""

    def __init__(self, drift: float | None, error: Exception | None = None):
        self.drift, self.error, self.has_ended, self.times = drift, error, False, 0

    def reweave(self) -> LiveChange:
        self.times += 1
        if self.error:
            raise self.error
        self.drift = 0.0
        return LiveChange("swap", ("a",), {}, (), (), (), "woven anew.")


def weave(stream: Woven, tolerance: float = 0.25) -> Weaver:
    weaver = Weaver(stream, tolerance)
    weaver.look()
    weaver.wait(10)
    return weaver


@pytest.mark.parametrize(("drift", "tolerance", "times"),
                         [(None, 0.25, 0), (0.25, 0.25, 0), (0.26, 0.25, 1), (9.0, inf, 0), (0.01, 0.0, 1)])
def test_a_drift_beyond_the_tolerance_is_mended(drift, tolerance, times):
    stream = Woven(drift)
    assert (len(weave(stream, tolerance).weavings), stream.times) == (times, times)


def test_what_came_of_it_is_told():
    stream, told = Woven(0.5), []
    weaver = Weaver(stream, 0.25)
    weaver.when_woven = lambda: told.append(stream.drift)
    weaver.look()
    weaver.wait(10)
    (found,) = weaver.weavings
    assert found["reason"] == "At a drift of 50%: woven anew." and (found["act"], found["kind"]) == ("reweave", "swap")
    assert told == [0.0]
    weaver.look()  # nothing is left to do
    weaver.wait(10)
    assert stream.times == 1


@pytest.mark.parametrize("error", [RunError("no."), OSError("no.")])
def test_a_stream_that_has_ended_is_left_alone_and_another_failure_is_told(error):
    stream = Woven(0.5, error)
    with pytest.warns(StreamWarning, match=r"drifted by 50%, and it could not be woven anew: no\."):
        Weaver(stream, 0.25).weave()
    stream.has_ended = True
    assert not weave(stream).weavings


@pytest.mark.parametrize("value", [-0.1, float("nan"), True, "much"])
def test_a_tolerance_is_a_number(value):
    with pytest.raises(RunError, match="drift_tolerance must be a number"):
        require_tolerance(value)
    assert require_tolerance(None) == inf and require_tolerance(0) == 0.0
