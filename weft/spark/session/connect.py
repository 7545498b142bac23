"""Spark Connect: what differs where the driver is a server, and this program only its client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from weft.errors import RunError
from weft.io.answer_sink import AnswerSink
from weft.spark.session.package_zip import with_package


def is_connect(spark: SparkSession) -> bool:
    """Whether the session is one of a Connect server."""
    # By name: the class itself cannot be imported where Connect's packages are not installed.
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def refuse_unreachable_sink(spark: SparkSession, sink: AnswerSink) -> None:
    """Raise where a sink would keep or print answers in the server's Python, which nobody here can look into."""
    if is_connect(spark) and not sink.facts.over_connect:
        name = sink.facts.name
        raise RunError(f"over Spark Connect the answers of a stream arrive at the server, so the '{name}' sink "
                       "would show nothing here: write to a folder, or give a function that sends them on.")


def prepare_callback(spark: SparkSession, function: Callable[..., Any]) -> Any:
    """A function for a stream. Over Connect it takes Weft along: neither the server's own Python nor the workers of a
    trigger, which has a session of its own, get the files that were added to the stream's session."""
    return with_package(function) if is_connect(spark) else function
