"""How often answers must come: the hint EVERY, `every=` and SLIDE <=; what it changes, and what it never does."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.golden import FOLDER, OPTIMIZERS, bind, plan_case
from tests.unit.sql.conftest import SOURCES
from weft.cli.queries import read_queries
from weft.cost.model import SparkModel
from weft.errors import CheckError, ParseError, PlanError, QueryError, RefusedError
from weft.model.window import Window
from weft.optimize.plan import find_optimizer, plan_workload
from weft.spark.bind.check import find_place
from weft.spark.stream.checkpoint import query_meaning
from weft.sql import parse_query
from weft.sql.freshness import parse_bound
from weft.sql.hints import hide_hints, without_hints
from weft.sql.identity import Expressions
from weft.stages.build import build, projection

MINUTE = 60_000_000
W = "GROUP BY window(ts, '10 minutes')"
PLAIN = f"SELECT symbol, count(*) FROM trades {W}, symbol"


def hinted(hint: str, plain: str = PLAIN) -> str:
    return plain.replace("SELECT ", f"SELECT {hint} ", 1)


@pytest.mark.parametrize(("text", "every"), [
    (hinted("/*+ EVERY('5 minutes') */"), 5 * MINUTE),
    (hinted("/*+every( \"1 hour 30 minutes\" )*/"), 90 * MINUTE),
    (hinted("/*+ EVERY('500 milliseconds') */"), 500_000),
    (hinted("/*+ BROADCAST(x), EVERY('5 minutes') */"), 5 * MINUTE),
    (hinted("/*+ EVERY('5 minutes') REPARTITION(3, symbol) */"), 5 * MINUTE),
    (hinted("/*+ REPARTITION(3) */ /*+ EVERY('5 minutes') */"), 5 * MINUTE),
    (hinted("-- every day\n/*+\n  EVERY('5 minutes')\n*/\n"), 5 * MINUTE),
    (hinted("/* EVERY('5 minutes') */"), None),  # a comment, no hint
    (hinted("/*+ BROADCAST(every) */"), None),
    (PLAIN.replace("count(*)", "every(price > 1), '/*+ EVERY(1) */', count(*) -- /*+ EVERY(1) */\n"), None),
    (PLAIN, None),
    ("SELECT max(price) FROM trades [RANGE 15 min SLIDE <= 3 min]", 3 * MINUTE),
    ("SELECT /*+ EVERY('1 minute') */ max(price) FROM trades [RANGE 15 min SLIDE <= 3 min]", MINUTE),
    ("SELECT /*+ EVERY('1 hour') */ max(price) FROM trades [ROWS 100 SLIDE 10]", 60 * MINUTE),
    ("SELECT /*+ EVERY('1 minute') */ max(price) FROM TABLE(TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
     "GROUP BY window_start, window_end", MINUTE),
])
def test_what_is_read(parse, text, every):
    assert parse(text).query.every == every


@pytest.mark.parametrize("plain", [
    PLAIN,
    PLAIN.replace("SELECT ", "SELECT\n  ").replace("FROM", "\nFROM"),
    "SELECT avg(price) FROM trades [RANGE 10 min SLIDE 2 min]",
    "SELECT max(price) FROM trades [ROWS 100 SLIDE 10]",
    "SELECT count(*) AS c, max(volume + 1) FROM trades GROUP BY window(ts, '1 hour'), exchange HAVING count(*) > 3",
])
def test_the_hint_leaves_no_trace_but_the_bound(parse, plain):
    """Spark's text, the probe, the shape and everything that is read are those of the query without it."""
    text = re.sub(r"^SELECT\s+", r"\g<0>/*+ EVERY('7 minutes') */ ", plain)
    with_hint, without = parse(text), parse(plain)
    assert with_hint.query.every == 7 * MINUTE and with_hint.query.text == text
    assert replace(with_hint, query=replace(with_hint.query, text=plain)) == without
    assert without_hints(text) == plain


def test_other_hints_stay_for_spark(parse):
    native = parse(hinted("/*+ BROADCAST(x), EVERY('5 minutes'), REPARTITION(3, symbol) */")).query.native
    assert native.startswith("SELECT /*+ BROADCAST(x), REPARTITION(3, symbol) */ symbol")
    assert parse(hinted("/*+ BROADCAST(x), EVERY('5 minutes') */")).items is None, "Spark must see the other hint"
    assert parse(hinted("/*+ EVERY('5 minutes') */")).items == parse(PLAIN).items is not None
    close = hinted("/*+ EVERY('5 minutes') */").replace("SELECT /", "SELECT/")
    assert parse(close).query.native.startswith("SELECT symbol,")


@pytest.mark.parametrize(("marked", "word", "kind"), [
    (hinted("/*+ EVERY(‸'5 mins') */"), "'5 mins' is not a duration that Spark can read", CheckError),
    (hinted("/*+ REPARTITION(3),\n EVERY(‸'5') */"), "not a duration", CheckError),
    (hinted("/*+ EVERY(‸'') */"), "not a duration", CheckError),
    (hinted("/*+ EVERY(‸'1.5 minutes') */"), "only seconds may have a fraction", CheckError),
    (hinted("/*+ EVERY(‸'0 minutes') */"), "must be longer than zero", RefusedError),
    (hinted("/*+ EVERY(‸'-5 minutes') */"), "must be longer than zero", RefusedError),
    (hinted("/*+ EVERY(‸'1 month') */"), "a month has no fixed length, so it cannot be a bound", RefusedError),
    (hinted("/*+ EVERY(‸'999999999999 days') */"), "too long", CheckError),
    (hinted("/*+ ‸EVERY(5) */"), "takes one duration in quotes", RefusedError),
    (hinted("/*+ ‸EVERY */"), "takes one duration in quotes", RefusedError),
    (hinted("/*+ ‸EVERY '5 minutes' */"), "takes one duration in quotes", RefusedError),
    (hinted("/*+ ‸EVERY('5 minutes', '1 minute') */"), "takes one duration in quotes", RefusedError),
    (hinted("/*+ ‸EVERY('5 minutes' */"), "takes one duration in quotes", RefusedError),
    (hinted("/*+ EVERY('5 minutes'), EVERY(‸'5 minutes') */"), "two hints EVERY", RefusedError),
    (hinted("/*+ EVERY('5 minutes') */ /*+ EVERY(‸'6 minutes') */"), "two hints EVERY", RefusedError),
    (f"‸/*+ EVERY('5 minutes') */ {PLAIN}", "does not stand right after SELECT", RefusedError),
    (f"{PLAIN} ‸/*+ EVERY('5 minutes') */", "does not stand right after SELECT", RefusedError),
    (PLAIN.replace("FROM", "\n‸/*+ EVERY('5 minutes') */ FROM"), "does not stand right after SELECT", RefusedError),
    ("SELECT /*+ EVERY(‸'4 minutes') */ max(price) FROM trades [RANGE 15 min SLIDE <= 3 min]",
     "SLIDE <= 3 min already asks for answers more often than every 4 min", RefusedError),
    ("SELECT max(price) FROM trades [‸RANGE 15 min SLIDE <= soon]", "'soon' is not a duration", ParseError),
    ("SELECT max(price) FROM trades [‸RANGE 15 min SLIDE < 3 min]", "'< 3 min' is not a duration", ParseError),
    ("SELECT max(price) FROM trades [‸RANGE 15 min SLIDE >= 3 min]", "SLIDE <= 2 min for an upper bound", ParseError),
    ("SELECT max(price) FROM trades ‸[RANGE 15 min SLIDE <= 0 min]", "longer than zero", RefusedError),
    ("SELECT max(price) FROM trades ‸[ROWS 15 SLIDE <= 3]", "SLIDE <= bounds a time", RefusedError),
    # errors of what follows the hint stand where the user's text has them
    (hinted("/*+ EVERY('5 minutes') */").replace("count(*)", "\n max(‸prise)"), "Did you mean 'price'", CheckError),
    (hinted("/*+ EVERY('5 minutes') */").replace("FROM trades", "FROM ‸trade"), "no source 'trade'", CheckError),
    (hinted("/*+ EVERY('5\nminutes') */", PLAIN) + " ‸ORDER BY 1", "ORDER BY", RefusedError),
    (hinted("/*+ EVERY('5 minutes') */", PLAIN) + " ‸) x", "cannot be read near ')'", ParseError),
])
def test_what_is_refused_and_where(parse, marked, word, kind):
    before = marked.partition("‸")[0].split("\n")
    with pytest.raises(QueryError) as caught:
        parse(marked.replace("‸", ""))
    error = caught.value
    assert type(error) is kind and word in str(error) and error.hint and error.query == "q"
    assert error.place is not None
    assert (error.place.line, error.place.column) == (len(before), len(before[-1]) + 1)


@pytest.mark.parametrize(("bracket", "window"), [
    ("[RANGE 15 min SLIDE <= 3 min]", Window(15 * MINUTE, 3 * MINUTE)),
    ("[window 15 min, slide<=3 min]", Window(15 * MINUTE, 3 * MINUTE)),
    ("[RANGE 2 min SLIDE <= 3 min]", Window(2 * MINUTE, 2 * MINUTE)),
])
def test_a_slide_that_is_bounded_is_the_bound(parse, bracket, window):
    query = parse(f"SELECT max(price) FROM trades {bracket}").query
    assert (query.window, query.slide_bound, query.every) == (window, 3 * MINUTE, 3 * MINUTE)
    assert parse("SELECT max(price) FROM trades [RANGE 15 min SLIDE 3 min]").query.slide_bound is None


def given_every(every, sql=PLAIN):
    return parse_query("q", sql, SOURCES, every=every).query.every


def test_a_bound_from_outside_the_text():
    assert given_every("5 minutes") == given_every("5 minutes", hinted("/*+ EVERY('300 seconds') */")) == 5 * MINUTE
    assert given_every("2 minutes", "SELECT max(price) FROM trades [RANGE 15 min SLIDE <= 3 min]") == 2 * MINUTE


@pytest.mark.parametrize(("every", "sql", "word"), [
    ("5 mins", PLAIN, "'5 mins' is not a duration that Spark can read"),
    ("0 seconds", PLAIN, "must be longer than zero"),
    (5, PLAIN, "every=5 is no text. Write every='5 minutes'"),
    ("10 minutes", hinted("/*+ EVERY('5 minutes') */"),
     "line 1, column 18: the hint asks for answers every 5 min, and what comes with the query for every 10 min"),
    ("10 minutes", "SELECT max(price) FROM trades [RANGE 15 min SLIDE <= 3 min]",
     "line 1, column 31: SLIDE <= 3 min already asks for answers more often than every 10 min"),
])
def test_bounds_that_cannot_be(every, sql, word):
    with pytest.raises(QueryError) as caught:
        given_every(every, sql)
    assert word in str(caught.value) and str(caught.value).startswith("query 'q'")


def test_a_bound_of_no_query():
    assert parse_bound("5 minutes") == 5 * MINUTE
    with pytest.raises(PlanError, match=r"every: '5' is not a duration that Spark can read\. Write a duration such as"):
        parse_bound("5")


def test_queries_that_differ_in_it_alone_are_equal(parse):
    query = parse(PLAIN).query
    assert replace(query, every=MINUTE) == query == replace(query, every=None)
    assert hash(replace(query, every=MINUTE)) == hash(query)


PLANS = sorted(FOLDER.glob("plans/*.sql"))


@pytest.mark.parametrize("case", PLANS, ids=lambda path: path.stem)
def test_plans_ids_and_meanings_do_not_depend_on_it(case, tmp_path):
    """Every query of a golden plan gets a bound; plans, nodes, ids and checkpoints' digests stay as they are."""
    queries = read_queries(case.parent, [case.name]).queries
    fresh = [replace(q, sql=q.sql.replace("SELECT ", f"SELECT /*+ EVERY('{i + 1} minutes') */ ", 1))
             for i, q in enumerate(queries)]
    (tmp_path / case.name).write_text("\n".join(f"-- name: {q.name}\n{q.sql}" for q in fresh))
    for path, text in plan_case(tmp_path / case.name).items():
        golden = case.with_name(path.name).read_text()
        if "explain" not in path.name:
            assert text == golden
    known = Expressions()
    both = [[bind(q.name, q.sql, known) for q in each] for each in (queries, fresh)]
    model = SparkModel(1.0, 1000, 3_600_000_000)
    for name in OPTIMIZERS:
        plans = [build(plan_workload(tuple(each), find_optimizer(name), lambda b: model, projection)) for each in both]
        assert [(n.id, n.inputs, n.holds) for n in plans[0]] == [(n.id, n.inputs, n.holds) for n in plans[1]]
    for one, other in zip(*both, strict=True):
        assert query_meaning(one.query, known.identity) == query_meaning(other.query, known.identity)
        assert one.query.every is None and other.query.every


def test_explain_says_how_often_answers_come(tmp_path):
    (tmp_path / "q.sql").write_text(
        "-- name: often\nSELECT /*+ EVERY('90 seconds') */ symbol, avg(price) FROM trades "
        "GROUP BY symbol, window(ts, '1 hour', '1 minute')\n"
        "-- name: bounded\nSELECT symbol, max(price) FROM trades [RANGE 15 min SLIDE <= 3 min] GROUP BY symbol\n"
        "-- name: whenever\nSELECT symbol, max(price) FROM trades [RANGE 15 min SLIDE 3 min] GROUP BY symbol\n")
    text, data = (plan_case(tmp_path / "q.sql")[tmp_path / f"q.explain.{kind}"] for kind in ("txt", "json"))
    assert text.endswith("answers come at the least:\n     often: every 90 s\n"
                         "     bounded: every 3 min, slides by 3 min (SLIDE <= 3 min)\n")
    assert '"bounded": {\n      "every": "3 min",\n      "slide_bound": "3 min",\n      "slide": "3 min"\n    }' in data


def test_places_that_spark_names_are_not_looked_for_in_the_hint():
    text = "SELECT /*+ EVERY('5\n minutes') */\n max(minutes) FROM trades"
    assert find_place(text, "minutes") == find_place(text.replace("EVERY", "OTHER").replace("minutes') ", "hours') "),
                                                     "minutes")
    assert find_place(text, "minutes").line == 3
    assert hide_hints(text).split("\n") == ["SELECT" + " " * 13, " " * 13, " max(minutes) FROM trades"]


@given(st.text("SELECT every()'\"/*+-;\n5m ", max_size=60))
def test_any_text_is_read_or_refused(tail):
    """No text makes the reader of hints stumble: other than a QueryError nothing comes out."""
    try:
        parse_query("q", f"SELECT {tail} FROM trades {W}", SOURCES)
    except QueryError as error:
        assert error.reason
