"""Which versions of Spark Weft runs on, and what the older of them lack.

`tests/unit/test_package.py` holds the range against the one that pip reads; docs/spark_versions.md says what was run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyspark
from pyspark.sql import SparkSession

from weft.errors import RunError

Version = tuple[int, int]
OLDEST: Version = (4, 0)
NUMBERS = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True)
class Feature:
    """What something that a user may ask of Weft needs of PySpark, since which version it is there, and what to do."""

    needs: str
    since: Version
    instead: str


USER_AGGREGATES = Feature("Arrow UDFs over groups of rows", (4, 1),
                          "Install pyspark>=4.1, or write it in SQL over built-in aggregates.")


def require_supported(spark: SparkSession) -> None:
    """Raise where the session's Spark, or the PySpark here, is older than any that Weft was run on."""
    for name, text in (("Spark", spark.version), ("PySpark", pyspark.__version__)):
        if read_version(text) < OLDEST:
            raise RunError(f"this session's {name} is {text}, and Weft needs {show_version(OLDEST)} or newer: install "
                           f"pyspark>={show_version(OLDEST)} and run on a cluster of that version.")


def find_lack(feature: Feature) -> str | None:
    """What the PySpark here lacks for what was asked, as the end of a sentence, or None."""
    version = pyspark.__version__
    if read_version(version) >= feature.since:
        return None
    return f"it needs {feature.needs}, which PySpark has from {show_version(feature.since)} on, and this is {version}."


def read_version(text: str) -> Version:
    """Major and minor number of a version, whatever a vendor hangs behind them."""
    found = NUMBERS.match(text)
    return (int(found[1]), int(found[2])) if found else OLDEST


def show_version(version: Version) -> str:
    """A version as people write it."""
    return ".".join(map(str, version))
