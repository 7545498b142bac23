"""Windows that count rows: what is read of their spelling, what is refused, and the text that says what they mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from weft.errors import ParseError, QueryError, RefusedError
from weft.model.query import Output
from weft.model.window import Window, rows_window
from weft.sql import Parsed
from weft.sql.copied import copied_text

Parse = Callable[[str], Parsed]
MOST = 10**12

ACCEPTED = [
    ("[ROWS 1000 SLIDE 100]", rows_window(1000, 100)),
    ("[ROWS 1000]", rows_window(1000, 1000)),
    ("[rows 7, slide 3]", rows_window(7, 3)),
    ("[ ROWS  0010\n SLIDE 4 ] t", rows_window(10, 4)),
    ("[ROWS 1 SLIDE 1]", rows_window(1, 1)),
    (f"[ROWS {MOST} SLIDE {MOST}]", rows_window(MOST, MOST)),
]

REFUSED = [
    ("‸[ROWS 0]", "at least one row", RefusedError),
    ("‸[ROWS 10 SLIDE 0]", "slide must be at least one row", RefusedError),
    ("‸[ROWS 10 SLIDE 11]", "larger than its range", RefusedError),
    (f"‸[ROWS {MOST + 1} SLIDE 1]", "at most 1,000,000,000,000 rows", RefusedError),
    (f"‸[ROWS 1{'0' * 9000} SLIDE 1]", "at most 1,000,000,000,000 rows", RefusedError),
    ("[‸ROWS 10.5 SLIDE 2]", "'10.5' is not a whole number of rows", ParseError),
    ("[‸ROWS -3]", "not a whole number", ParseError),
    ("[‸ROWS 1e3]", "not a whole number", ParseError),
    ("[‸ROWS ten]", "not a whole number", ParseError),
    ("[‸ROWS '10']", "not a whole number", ParseError),
    ("[‸ROWS ١٠]", "not a whole number", ParseError),
    ("[‸ROWS 10 SLIDE 2 min]", "'2 min' is not a whole number of rows", ParseError),
    ("[‸RANGE 10 min SLIDE 2 rows]", "not a duration", ParseError),
    ("[‸RANGE 10 rows]", "not a duration", ParseError),
    ("‸[ROWS]", "cannot be read", ParseError),
    ("‸[ROWS 10", "not closed", ParseError),
    ("‸[ROWS 10] [RANGE 1 min]", "more than one window", RefusedError),
    ("[ROWS 10] GROUP BY ‸window(ts, '1 minute')", "more than one window", RefusedError),
]


@pytest.mark.parametrize(("bracket", "window"), ACCEPTED)
def test_windows_of_rows_are_read(parse: Parse, bracket: str, window: Window) -> None:
    parsed = parse(f"SELECT symbol, window.end, avg(price) a FROM trades {bracket} WHERE price > 1 GROUP BY symbol")
    query = parsed.query
    assert (query.window, query.time, query.keys, query.where) == (window, "ts", ("symbol",), "price > 1")
    assert [output.sql for output in query.outputs] == ["__key_0", "__window.end", "__call_0"]
    assert "window(ts, '1 second')" in parsed.probe  # the type of the window is that of any other


@pytest.mark.parametrize(("marked", "word", "kind"), REFUSED, ids=[text[:40] for text, *_ in REFUSED])
def test_what_is_no_window_of_rows_is_refused(parse: Parse, marked: str, word: str, kind: type[QueryError]) -> None:
    marked = f"SELECT count(*)\nFROM trades {marked}"
    with pytest.raises(kind) as caught:
        parse(marked.replace("‸", ""))
    before = marked.partition("‸")[0].split("\n")
    assert word in str(caught.value) and caught.value.hint
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (len(before), len(before[-1]) + 1)


def test_rows_of_one_time_are_ordered_by_all_columns_that_can_be(parse: Parse) -> None:
    """Whatever a query reads, rows count in one order; what Spark cannot sort is sorted as text."""
    assert parse("SELECT count(*) FROM trades [ROWS 5]").query.order == (
        "ts", "symbol", "price", "volume", "exchange", "to_json(named_struct('value', Addr))", "`odd name`", "`order`",
        "other_ts")
    assert parse("SELECT count(*) FROM trades [RANGE 5 min]").query.order == ()


def test_the_text_for_spark_copies_every_row_into_its_windows(parse: Parse) -> None:
    query = parse("SELECT symbol, window.end, max(price) FROM trades [ROWS 7 SLIDE 3] WHERE volume > 1 GROUP BY symbol"
                  " HAVING count(*) > 2").query
    named = replace(query, order=("ts", "price"), outputs=tuple(Output(o.sql, f"o{i}", "")
                                                                for i, o in enumerate(query.outputs)))
    assert copied_text(named, "timestamp") == (
        "SELECT __key_0 AS o0, __window.end AS o1, __call_0 AS o2 FROM (SELECT symbol AS __key_0, "
        "named_struct('start', min(ts), 'end', max(ts)) AS __window, max(price) AS __call_0, count(*) AS __call_1 FROM "
        "(SELECT *, explode(sequence(__weft_number + pmod(-__weft_number, 3L), IF(__weft_size - __weft_number < 7L, "
        "__weft_size, __weft_number + 6L), 3L)) AS __weft_end FROM (SELECT * FROM (SELECT *, CAST(row_number() OVER "
        "(PARTITION BY symbol ORDER BY ts, ts, price) AS BIGINT) AS __weft_number, count(1) OVER (PARTITION BY symbol) "
        "AS __weft_size FROM __weft_source__ WHERE ts IS NOT NULL AND (volume > 1)) WHERE __weft_number + "
        "pmod(-__weft_number, 3L) <= IF(__weft_size - __weft_number < 7L, __weft_size, __weft_number + 6L))) "
        "GROUP BY symbol, __weft_end) WHERE __call_1 > 2")
