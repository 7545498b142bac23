"""What a trigger raises that was cut short."""

from __future__ import annotations

import traceback

import pytest

from weft.spark.stream import failures
from weft.spark.stream.failures import TriggerStopped, short_interruptions

STACK = "\n".join(f"\tat org.apache.spark.Deep.call(Deep.scala:{line})" for line in range(500))


class JavaRaised(Exception):
    """Stands for what Py4J raises, which asks Java for its text."""


@pytest.fixture(autouse=True)
def without_java(monkeypatch):
    monkeypatch.setattr(failures, "Py4JJavaError", JavaRaised)


def test_an_interruption_is_told_briefly_and_as_spark_looks_for_it():
    with pytest.raises(TriggerStopped) as found, short_interruptions():
        raise JavaRaised(f"An error occurred while calling o1.save.\n: java.lang.InterruptedException\n{STACK}")
    text = "".join(traceback.format_exception(found.value))
    assert "py4j.protocol.Py4JJavaError: An error occurred while calling" in text
    assert text.rstrip().endswith("java.lang.InterruptedException") and len(text) < 2_000


def test_other_errors_stay_whole():
    with pytest.raises(JavaRaised, match="no space left"), short_interruptions():
        raise JavaRaised(f"An error occurred while calling o1.save.\n: java.io.IOException: no space left\n{STACK}")
