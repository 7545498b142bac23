"""Names that differ in case only: one name, two names, or a name that could mean two columns."""

from __future__ import annotations

import pytest

from weft.errors import CheckError
from weft.sql import SourceSchema, parse_query

COLUMNS = (("ts", "timestamp"), ("k", "string"), ("K", "string"), ("x", "int"), ("X", "int"), ("y", "int"),
           ("s", "struct<a:int,A:int>"))
WINDOW = "window(ts, '10 minutes')"


def read(text, case_sensitive):
    """The query as it is read in a session of that kind."""
    source = SourceSchema("t", COLUMNS, "ts", case_sensitive)
    return parse_query("q", text, {"t": source}).query


def test_where_case_counts_each_spelling_is_its_own_column():
    query = read(f"SELECT k, K, sum(x) AS A, sum(X) AS a, sum(s.a), sum(s.A) FROM t WHERE x > 1 AND X > 2 "
                 f"GROUP BY k, K, {WINDOW} HAVING A > 1 AND a > 2", True)
    assert query.keys == ("k", "K")
    assert [call.args for call in query.calls] == [("x",), ("X",), ("s.a",), ("s.A",)]
    assert (query.where, query.having) == ("x > 1 AND X > 2", "__call_0 > 1 AND __call_1 > 2")


@pytest.mark.parametrize("text", [
    f"SELECT sum(Y) FROM t GROUP BY {WINDOW}",
    f"SELECT sum(y) AS total, TOTAL + 1 FROM t GROUP BY {WINDOW}",
    f"SELECT window.START FROM t GROUP BY {WINDOW}",
    f"SELECT WINDOW.start FROM t GROUP BY {WINDOW}",
    f"SELECT sum(T.y) FROM t GROUP BY {WINDOW}",
    "SELECT sum(y) FROM t GROUP BY window(TS, '10 minutes')",
])  # fmt: skip
def test_where_case_counts_another_spelling_is_unknown(text):
    assert read(text, False).calls is not None
    with pytest.raises(CheckError):
        read(text, True)


@pytest.mark.parametrize("text", [
    f"SELECT sum(x) FROM t GROUP BY {WINDOW}",
    f"SELECT count(*) FROM t WHERE t.X > 1 GROUP BY {WINDOW}",
    f"SELECT k FROM t GROUP BY k, {WINDOW}",
])  # fmt: skip
def test_where_case_does_not_count_a_name_of_two_columns_is_ambiguous(text):
    with pytest.raises(CheckError, match=r"could be any of the columns (x, X|k, K)"):
        read(text, False)
