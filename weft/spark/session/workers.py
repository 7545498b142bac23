"""The Python of Spark's workers: the one of this program where that can be, and looked at before the first run."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any
from weakref import WeakSet

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from weft.errors import RunError
from weft.spark.session.connect import is_connect

DEFAULT = "python3"  # what PySpark runs where PYSPARK_PYTHON is not set
PYTHON = "spark.sql.execution.pyspark.python"
# What a worker says where its Python cannot run Weft.
MISSING = re.compile(r"No module named '([\w.]+)'|(?:PACKAGE_NOT_INSTALLED\] )(\w+)")
KNOWN: WeakSet[SparkSession] = WeakSet()  # the sessions whose workers were looked at


def require_workers(spark: SparkSession) -> None:
    """Raise where the workers of a session cannot import what Weft runs on, and say what to set; once a session."""
    if spark in KNOWN:
        return
    if not (is_local(spark) and choose_python(spark) == sys.executable):
        look_into_workers(spark)
    KNOWN.add(spark)


def is_local(spark: SparkSession) -> bool:
    """Whether the workers run on this machine, from this very process."""
    return not is_connect(spark) and re.fullmatch(r"local(\[[^]]*\])?", str(spark.conf.get("spark.master"))) is not None


def count_cores(master: str) -> int:
    """How many tasks a local session runs at once, by what it is told: `local`, `local[4]`, `local[*]`."""
    found = re.fullmatch(r"local\[(\d+|\*)(?:,.*)?\]", master)
    if found is None:
        return 1
    return (os.cpu_count() or 1) if found[1] == "*" else max(int(found[1]), 1)


def choose_python(spark: SparkSession) -> str:
    """Let the workers of a local session run this program's Python, where nobody chose another; gives the one they run.
    """
    from pyspark import SparkContext  # which a client of Connect alone does not have

    context = SparkContext.getOrCreate()
    if context.pythonExec == DEFAULT:  # whatever comes first on PATH
        context.pythonExec = sys.executable
    return spark.conf.get(PYTHON, None) or context.pythonExec


def look_into_workers(spark: SparkSession) -> None:
    """Let one worker import what Weft needs."""

    def imported(batches: Iterable[Any]) -> Iterator[Any]:  # within a function, so that Spark sends it whole
        import numpy  # noqa: F401
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401

        yield from batches

    try:
        spark.range(1).mapInArrow(imported, "id bigint").collect()
    except PySparkException as error:
        found = MISSING.search(str(error))
        if found:
            raise RunError(python_advice(found[1] or found[2])) from error
        raise


def python_advice(module: str) -> str:
    """What to do where workers have no such module."""
    return (f"the Python of this session's workers has no {module}: set PYSPARK_PYTHON to one that has Weft's packages "
            f"before the session is made (this program runs {sys.executable}), or set {PYTHON} in the session. "
            "docs/clusters.md says how packages come to a cluster.")
