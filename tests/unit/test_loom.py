"""A loom without Spark: whose session it stops."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from weft import Loom
from weft.spark.session.session import has_session


class Session(SimpleNamespace):
    """Counts how often it is stopped."""

    stopped, version = 0, "4.3.0"

    def stop(self) -> None:
        self.stopped += 1

    __hash__ = object.__hash__


@pytest.mark.parametrize(("there", "given", "stopped"), [(False, False, 1), (True, False, 0), (False, True, 0)])
def test_only_a_session_that_the_loom_started_is_stopped(monkeypatch, there, given, stopped):
    session = Session()
    monkeypatch.setattr("weft.loom.registry.has_session", lambda: there)
    monkeypatch.setattr("weft.loom.registry.active_or_local", lambda: session)
    with Loom(session if given else None) as loom:
        assert loom.spark is session and session.stopped == 0
    loom.close()
    assert session.stopped == stopped


def test_a_program_without_spark_has_no_session():
    assert not has_session()
