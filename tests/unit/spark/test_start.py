"""Starting a stream: what is refused before anything runs."""

from __future__ import annotations

import pytest

from weft.errors import RunError
from weft.spark.start import refuse_counting
from weft.sql import SourceSchema, parse_query

TRADES = {"trades": SourceSchema("trades", (("ts", "timestamp"), ("price", "double")), "ts")}


def test_windows_that_count_rows_are_refused():
    timed, counted = (parse_query(name, f"SELECT avg(price) FROM trades [{window}]", TRADES).query
                      for name, window in (("timed", "RANGE 5 min"), ("counted", "ROWS 5")))
    refuse_counting([timed])
    with pytest.raises(RunError, match="a stream cannot answer counted: a window of ROWS counts rows"):
        refuse_counting([timed, counted])
