"""Starting a stream: what is refused before anything runs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from weft.errors import RunError
from weft.model.window import Window, rows_window
from weft.spark.stream.row_windows import require_countable


def bound(window: Window, kind: str) -> SimpleNamespace:
    return SimpleNamespace(query=SimpleNamespace(name="q", window=window, keys=("k",)), key_types=(kind,))


def test_rows_are_not_counted_by_keys_whose_equal_values_differ_in_bytes():
    require_countable([bound(rows_window(5, 1), "double"), bound(rows_window(5, 1), "struct<a:int>"),
                       bound(Window(5, 1), "struct<a:double>")])
    for kind in ("struct<a:double>", "array<float>", "map<string,int>"):
        with pytest.raises(RunError, match=r"cannot count the rows of 'q' by k, which is .*: group by its fields"):
            require_countable([bound(rows_window(5, 1), kind)])
