"""Windows of time and of rows: what they are called, where they end, and that they are never the same."""

from __future__ import annotations

import pytest

from weft.model.edges import progressions
from weft.model.window import ROW_COUNT, Window, rows_window


def test_a_window_says_what_it_counts():
    assert str(rows_window(1000, 100)) == "1000 rows / 100 rows"
    assert str(rows_window(7, 1)) == "7 rows / 1 row"
    assert str(rows_window(10, 4)) == "10 rows / 4 rows"
    assert str(Window(90_000_000, 60_000_000, 1_000_000)) == "90 s / 1 min from 1 s"


def test_windows_of_rows_end_at_whole_slides():
    for size, slide in ((7, 3), (10, 4), (5, 5), (1000, 1)):
        window = rows_window(size, slide)
        assert (window.start + window.range) % window.slide == 0 and 0 <= window.start < slide
    assert progressions([rows_window(7, 3), rows_window(10, 4)]) == ((0, 3), (2, 3), (0, 4), (2, 4))
    with pytest.raises(ValueError, match="multiple of its slide"):
        Window(7, 3, 0, ROW_COUNT)


def test_as_many_rows_as_microseconds_is_another_window():
    assert rows_window(10, 5) != Window(10, 5) and len({rows_window(10, 5), Window(10, 5)}) == 2
