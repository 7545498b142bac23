"""The session of a fuzzing run: a stock one, or Weft's own."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

from tests.fixtures.java import JAVA
from weft.spark.session.session import local_session, quiet_loggers

# What makes small jobs quick, and nothing that hides an error.
OPTIONS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "2g",
           "spark.driver.extraJavaOptions": JAVA, "spark.sql.shuffle.partitions": "2", "spark.task.maxFailures": "1",
           "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def make_session(kind: str) -> SparkSession:
    """A session without any of Weft's options ("stock"), or Weft's own ("weft")."""
    if kind == "weft":
        return local_session("weft-fuzz", cores="2", **OPTIONS)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    quiet_loggers()
    builder = SparkSession.builder.appName("weft-fuzz").master("local[2]")
    for name, value in OPTIONS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
