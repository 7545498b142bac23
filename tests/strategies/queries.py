"""Random window queries over the random tables, as SQL text."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

NUMBERS = ("t", "i", "n", "f", "x", "d", "w", "i + t", "x * 2", "n % 7", "CAST(s IS NULL AS INT)")
PLAIN = (*NUMBERS, "b", "day", "at", "nt", "m")
ORDERED = (*PLAIN, "s", "upper(s)")
INTEGERS = ("t", "i", "n")
KEYS = (
    "k", "g", "upper(k)", "g % 3", "h", "m", "b", "day", "addr", "addr.city", "tags", "coalesce(k, 'none')",
    "date_trunc('DAY', at)", "CASE WHEN x > 4000 THEN 'high' ELSE 'low' END",
)
CONDITIONS = ("x > 4000", "b", "k = 'k0'", "s IS NOT NULL AND t < 0", "i % 2 = 0 OR g IN (0, 1)",
              "day < DATE'2020-01-01'")
DURATIONS = ("1 second", "7 seconds", "11 seconds", "1 minute", "90 seconds", "10 minutes", "1 hour", "77 minutes",
             "1 day")

STATISTICS = ("sum", "avg", "mean", "var_pop", "variance", "stddev", "stddev_pop", "skewness", "kurtosis")


def one_argument(ordered: Sequence[str] = ORDERED) -> st.SearchStrategy[str]:
    """A call of an aggregate of one argument; `ordered` are those that least and greatest are asked of."""
    numeric = st.sampled_from(STATISTICS)
    return st.one_of(
        st.builds("{}({})".format, numeric, st.sampled_from(NUMBERS)),
        st.builds("{}({})".format, st.sampled_from(["min", "max", "count"]), st.sampled_from(ordered)),
        st.builds("{}({})".format, st.sampled_from(["bit_and", "bit_or", "bit_xor"]), st.sampled_from(INTEGERS)),
        st.builds("{}({})".format, st.sampled_from(["bool_and", "bool_or", "every", "any", "some", "count_if"]),
                  st.sampled_from(("b", "x > 4000", "s = 'a'"))),
    )


def two_arguments() -> st.SearchStrategy[str]:
    """A call of an aggregate of two arguments. Ties of max_by are Spark's to break, so its order decides."""
    pair = st.sampled_from(["covar_pop", "covar_samp", "corr"])
    by = st.sampled_from(["min_by", "max_by"])
    return st.one_of(
        st.builds("{}({}, {})".format, pair, st.sampled_from(NUMBERS), st.sampled_from(NUMBERS)),
        st.builds("{}({}, {})".format, by, st.sampled_from(("i", "CAST(i AS STRING)", "i % 10")), st.just("i")),
        st.just("count(x, s)"),
    )


PERCENTAGES = ("0", "0.5", "0.9", "1", "array(0.25, 0.5, 0.999)")
LISTED = (*ORDERED, "addr", "tags")
# Without NaN, among which Spark's percentile_approx hangs on how rows are parted.
RANKED = ("t", "i", "n", "d", "nanvl(x, 0)", "day", "at", "nt")


def holistic() -> st.SearchStrategy[str]:
    """A call of an aggregate that keeps values; ties of mode are broken, for Spark promises nothing about them."""
    return st.one_of(
        st.builds("count(DISTINCT {})".format, st.sampled_from((*ORDERED, "k, x", "s, day, h"))),
        st.builds("approx_count_distinct({})".format, st.sampled_from((*ORDERED, "x, 0.15"))),
        st.builds("median({})".format, st.sampled_from(NUMBERS)),
        st.builds("percentile({}, {})".format, st.sampled_from(NUMBERS), st.sampled_from(PERCENTAGES)),
        st.builds("percentile_approx({}, {})".format, st.sampled_from(RANKED), st.sampled_from(PERCENTAGES)),
        st.builds("mode({}, true)".format, st.sampled_from(ORDERED)),
    )


def lists() -> st.SearchStrategy[str]:
    """Collected values, sorted, for Spark promises no order."""
    only = st.sampled_from(("", *(f" FILTER (WHERE {condition})" for condition in CONDITIONS)))
    some = st.builds("{}({})".format, st.sampled_from(["collect_list", "array_agg"]), st.sampled_from(LISTED))
    each = st.builds("collect_set({})".format, st.sampled_from(ORDERED))
    return st.builds("sort_array({}{})".format, st.one_of(some, each), only)


def calls() -> st.SearchStrategy[str]:
    """An aggregate call, some with a FILTER."""
    plain = st.one_of(st.just("count(*)"), one_argument(), one_argument(), two_arguments(), holistic())
    filtered = st.builds("{} FILTER (WHERE {})".format, plain, st.sampled_from(CONDITIONS))
    return st.one_of(plain, plain, filtered)


def folded() -> st.SearchStrategy[str]:
    """A call whose slices hold a few numbers each, whatever the rows, some with a FILTER."""
    plain = st.one_of(st.just("count(*)"), one_argument(PLAIN), one_argument(PLAIN), two_arguments())
    return st.one_of(plain, plain, st.builds("{} FILTER (WHERE {})".format, plain, st.sampled_from(CONDITIONS)))


def expressions() -> st.SearchStrategy[str]:
    """What a SELECT holds beside keys: calls, and scalar expressions over them."""
    return st.one_of(
        calls(), calls(), calls(), lists(),
        st.just("max(n) - min(n)"),
        st.just("coalesce(sum(i), 0) + count(*)"),
        st.just("round(avg(x), 2)"),
        st.just("CASE WHEN count(*) > 3 THEN max(s) ELSE min(s) END"),
        st.just("concat(CAST(window.start AS STRING), '/', count(*))"),
    )


@st.composite
def windows(draw: st.DrawFn) -> str:
    """A window() call: tumbling or sliding, ranges that are no multiple of the slide, offsets, sub-second slides."""
    time = draw(st.sampled_from(["ts", "ts", "ts", "nt"]))
    size, slide = draw(st.sampled_from(SIZES))
    if slide is None:
        return f"window({time}, '{size}')"
    start = draw(st.sampled_from(["", "", ", '100 milliseconds'", ", '-200 milliseconds'"]))
    return f"window({time}, '{size}', '{slide}'{start})"


SIZES = (
    *((d, None) for d in DURATIONS),
    ("10 seconds", "1 second"), ("11 seconds", "7 seconds"), ("10 seconds", "3 seconds"),
    ("1 second", "250 milliseconds"),
    ("2500 milliseconds", "700 milliseconds"), ("10 minutes", "2 minutes"), ("10 minutes", "3 minutes"),
    ("1 hour", "7 minutes"), ("25 hours", "6 hours"), ("1 week", "1 day"), ("90 minutes", "40 minutes"),
)


def related_queries(items: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[str]:
    """Queries that have much to share: few keys that are columns, and windows that cut time in the same places."""
    sizes = st.sampled_from(("window(ts, '10 seconds', '1 second')", "window(ts, '7 seconds', '1 second')",
                             "window(ts, '3 seconds')"))
    return queries(among=("k", "g", "b"), over=sizes, items=items)


HAVINGS = ("", "", " HAVING count(*) > 1", " HAVING max(i) > 0 OR a0 IS NULL", " HAVING sum(t) <> 0")


@st.composite
def queries(draw: st.DrawFn, more: st.SearchStrategy[str] | None = None, among: Sequence[str] = KEYS,
            over: st.SearchStrategy[str] | None = None, items: st.SearchStrategy[str] | None = None) -> str:
    """A whole query; `items` are what its SELECT may hold and `more` further ones, `among` its keys and `over` its
    windows."""
    keys = draw(st.lists(st.sampled_from(among), max_size=2, unique=True))
    window = draw(windows() if over is None else over)
    usual = expressions() if items is None else items
    held = draw(st.lists(usual if more is None else st.one_of(more, usual), min_size=1, max_size=4))
    shown = [*keys, draw(st.sampled_from(["window", "window.start", "window.end", "window.start, window.end"]))]
    select = ", ".join([*shown, *(f"{item} AS a{i}" for i, item in enumerate(held))])
    where = draw(st.one_of(st.just(""), st.just(""), st.builds(" WHERE {}".format, st.sampled_from(CONDITIONS))))
    having = draw(st.sampled_from(HAVINGS))
    return f"SELECT {select} FROM t{where} GROUP BY {', '.join([*keys, window])}{having}"
