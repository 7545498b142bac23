"""Which versions of Spark run, and what is said where one lacks something."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from tests.strategies.aggregates import Spread
from weft.aggregates.defined import define
from weft.errors import AggregateError, RunError
from weft.spark.bind.functions import Functions
from weft.spark.session import version


@pytest.mark.parametrize(("text", "numbers"), [("4.3.0", (4, 3)), ("4.10.2", (4, 10)), ("4.1.0.dev0", (4, 1)),
                                               ("4.0.0-amzn-1", (4, 0)), ("4.2-preview1", (4, 2))])
def test_a_version_is_read_whatever_a_vendor_adds(text, numbers):
    assert version.read_version(text) == numbers


def test_an_older_spark_is_refused_when_a_loom_is_made():
    from weft import Loom

    with pytest.raises(RunError, match=re.escape("Spark is 3.5.9, and Weft needs 4.0 or newer: install pyspark>=4.0")):
        Loom(SimpleNamespace(version="3.5.9"))


def test_an_older_pyspark_is_refused_though_the_server_is_new(monkeypatch):
    monkeypatch.setattr(version.pyspark, "__version__", "3.5.1")
    with pytest.raises(RunError, match=r"PySpark is 3\.5\.1"):
        version.require_supported(SimpleNamespace(version="4.3.0"))


def test_an_aggregate_of_the_user_s_own_is_refused_where_pyspark_cannot_run_it(monkeypatch):
    monkeypatch.setattr(version.pyspark, "__version__", "4.0.5")
    with pytest.raises(AggregateError) as refused:
        Functions(SimpleNamespace()).add(define(Spread()))
    assert str(refused.value) == ("aggregate 'spread': it needs Arrow UDFs over groups of rows, which PySpark has from "
                                  "4.1 on, and this is 4.0.5. Install pyspark>=4.1, or write it in SQL over built-in "
                                  "aggregates.")
    monkeypatch.setattr(version.pyspark, "__version__", "4.1.0")
    assert version.find_lack(version.USER_AGGREGATES) is None
