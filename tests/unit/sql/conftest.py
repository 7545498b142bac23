"""The sources that the SQL tests read, and `parse`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from weft.sql import Parsed, SourceSchema, parse_query

TRADES = SourceSchema(
    "trades",
    (
        ("ts", "timestamp"),
        ("symbol", "string"),
        ("price", "double"),
        ("volume", "bigint"),
        ("exchange", "string"),
        ("Addr", "struct<City:string,zip:struct<Code:int,ext:map<int,int>>>"),
        ("odd name", "int"),
        ("order", "int"),
        ("other_ts", "timestamp_ntz"),
    ),
    "ts",
)
HIDING = SourceSchema("readings", (("at", "timestamp"), ("value", "double"), ("window", "int")), "at")
UNTIMED = SourceSchema("log", (("at", "timestamp"), ("value", "double")), None)
SOURCES = {source.name: source for source in (TRADES, HIDING, UNTIMED)}


@pytest.fixture
def parse() -> Callable[[str], Parsed]:
    """Parse one query named `q`."""
    return lambda text: parse_query("q", text, SOURCES)


@pytest.fixture
def columns() -> dict[str, str]:
    """The types of the columns of trades."""
    return TRADES.types
