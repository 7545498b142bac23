"""Durations as Spark 4.3 reads them; each value was checked against Spark."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import CheckError
from weft.sql.text import Text
from weft.sql.windows import MICROS, parse_duration

TEXT = Text("q", "")
SECOND = 1_000_000


@pytest.mark.parametrize(
    ("words", "micros"),
    [
        ("10 minutes", 600 * SECOND),
        ("10 minute", 600 * SECOND),
        ("  10    MINUTES ", 600 * SECOND),
        ("interval 10 minutes", 600 * SECOND),
        ("+10 minutes", 600 * SECOND),
        ("- 10 minutes", -600 * SECOND),
        ("10 minutes 10 minutes", 1200 * SECOND),
        ("1 hour -30 minutes", 1800 * SECOND),
        ("1 hour -30.5 seconds", 3569_500_000),
        ("1.5 seconds", 1_500_000),
        (".5 second", 500_000),
        ("1. second", SECOND),
        ("1.123456789 second", 1_123_456),
        ("500 millisecond 250 microseconds", 500_250),
        ("2 weeks 1 day", 15 * 86_400 * SECOND),
        ("0 month 10 minutes", 600 * SECOND),
    ],
)
def test_durations(words: str, micros: int) -> None:
    assert parse_duration(TEXT, None, words) == micros


@pytest.mark.parametrize(
    "words",
    ["", "10", "10minutes", "10 min", "10 s", "10 ms", "1 hour, 30 minutes", "1 hour30 minutes", "interval10 minutes",
     "10 minute s", "1.1234567891 second", "1.5 minutes", "10 nanoseconds", "999999999999999 days"],
)  # fmt: skip
def test_what_spark_cannot_read(words: str) -> None:
    with pytest.raises(CheckError):
        parse_duration(TEXT, None, words)


@given(st.lists(st.tuples(st.integers(-999, 999), st.sampled_from(sorted(MICROS))), min_size=1))
def test_a_duration_is_the_sum_of_its_parts(parts: list[tuple[int, str]]) -> None:
    words = " ".join(f"{number} {unit}s" for number, unit in parts)
    assert parse_duration(TEXT, None, words) == sum(number * MICROS[unit] for number, unit in parts)
