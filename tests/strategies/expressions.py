"""Random expressions over a small table with every awkward value, as SQL text in any spelling."""

from __future__ import annotations

from hypothesis import strategies as st

COLUMNS = {
    "a": "int", "b": "int", "n": "bigint", "x": "double", "y": "double", "f": "float", "d": "decimal(10,2)",
    "w": "decimal(38,18)", "s": "string", "r": "string", "flag": "boolean", "up": "boolean", "day": "date",
    "ts": "timestamp", "addr": "struct<city:string,zip:int>",
}  # fmt: skip
# The values of each column row by row, as SQL; the shorter lists start again.
VALUES: dict[str, tuple[str, ...]] = {
    "a": ("NULL", "0", "1", "2147483647", "-2147483648", "5", "-1"),
    "b": ("0", "NULL", "1", "2", "3600"),
    "n": ("9223372036854775807", "0", "NULL", "-9223372036854775807", "6"),
    "x": ("'NaN'", "0.0", "'-0.0'", "NULL", "'Infinity'", "'-Infinity'", "1.5", "2", "1e308", "'NaN'", "0.1"),
    "y": ("'-0.0'", "'NaN'", "0.0", "1.5", "NULL", "0.3", "'Infinity'"),
    "f": ("'NaN'", "NULL", "0.1", "'-0.0'", "2"),
    "d": ("NULL", "0", "99999999.99", "1.50", "-2"),
    "w": ("1", "NULL", "99999999999999999999.999999999999999999", "0.000000000000000001"),
    "s": ("'A'", "'a'", "NULL", "'1'", "''", "'x'", "'2'"),
    "r": ("'a'", "NULL", "'A'", "'5'"),
    "flag": ("true", "false", "NULL"),
    "up": ("NULL", "true", "true", "false"),
    "day": ("'2024-01-01'", "NULL", "'1970-01-01'"),
    "ts": ("'2024-01-01 00:00:00'", "'1969-12-31 23:59:59'", "NULL"),
    "addr": ("named_struct('city', 'A', 'zip', 1)", "NULL", "named_struct('city', NULL, 'zip', 0)"),
}
COMPARE = ("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>")
INTS = ("a", "A", "`b`", "n", "0", "1", "2", "5", "-1", "60", "3600", "2147483647", "addr.zip", "2 * 3", "60 * 60")
NUMBERS = (*INTS, "x", "Y", "f", "d", "w", "1.5", "0.1", "1e0", "-0.0", "CAST(s AS INT)", "TRY_CAST(s AS INT)", "1 / a",
           "abs(a)", "length(s)")
TEXTS = ("s", "S", "r", "'A'", "'a'", "'1'", "upper(s)", "UPPER( s )", "addr.city", "coalesce(s, r)", "s || r")
TIMES = ("ts", "TIMESTAMP '2024-01-01 00:00:00'", "day", "DATE '1970-01-01'")
TRUTHS = ("flag", "up", "FLAG", "true", "a IS NULL", "s IS NOT NULL", "isnan(x)", "x IN (1.5, 0.1)", "s LIKE 'A%'",
          "a IN (1, NULL)", "1 / b > 0", "CAST(s AS INT) = 1", "a > s", "n < s", "day < '2024-01-01'", "s RLIKE 'a'")


def table(rows: range) -> str:
    """The rows of these numbers as an inline table in Spark SQL."""
    lines = ("({})".format(", ".join(value(name, row) for name in COLUMNS)) for row in rows)
    return f"SELECT * FROM VALUES {', '.join(lines)} AS t({', '.join(COLUMNS)})"


def value(name: str, row: int) -> str:
    """One value, of its column's type."""
    kind = COLUMNS[name]
    return f"CAST({VALUES[name][row % len(VALUES[name])]} AS {kind})"


def numbers() -> st.SearchStrategy[str]:
    """A number: a column, a literal, or arithmetic over such."""
    leaf = st.sampled_from(NUMBERS)
    return st.one_of(leaf, leaf, st.builds("({} {} {})".format, leaf, st.sampled_from("+-*+*"), leaf),
                     st.builds("{} {} ({})".format, leaf, st.sampled_from("+*"), st.sampled_from(INTS)))


def comparisons() -> st.SearchStrategy[str]:
    """Two values of a kind compared, a range or a list."""
    op = st.sampled_from(COMPARE)
    pairs = [st.builds("{}{}{}".format, of, op.map(" {} ".format), of)
             for of in (numbers(), st.sampled_from(TEXTS), st.sampled_from(TIMES), st.sampled_from(["flag", "up"]))]
    lists = st.lists(st.sampled_from(["1", "2", "5", "-1", "60"]), min_size=1, max_size=4).map(", ".join)
    texts = st.lists(st.sampled_from(["'A'", "'a'", "'1'"]), min_size=1, max_size=3).map(", ".join)
    return st.one_of(
        *pairs, pairs[0],
        st.builds("{} {} ({})".format, st.sampled_from(NUMBERS), st.sampled_from(["IN", "NOT IN"]), lists),
        st.builds("{} in ({})".format, st.sampled_from(TEXTS), texts),
        st.builds("{} {} {} AND {}".format, numbers(), st.sampled_from(["BETWEEN", "not between"]), numbers(),
                  numbers()),
    )


def predicates() -> st.SearchStrategy[str]:
    """A condition: comparisons under AND, OR and NOT."""
    leaf = st.one_of(comparisons(), comparisons(), st.sampled_from(TRUTHS))
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds("({}) {} ({})".format, inner, st.sampled_from(["AND", "or", "AND"]), inner),
            st.builds("NOT ({})".format, inner),
        ),
        max_leaves=5,
    )


def expressions() -> st.SearchStrategy[str]:
    """Any expression."""
    case = st.builds("CASE WHEN {} THEN {} ELSE {} END".format, predicates(), numbers(), numbers())
    return st.one_of(predicates(), predicates(), predicates(), numbers(), case)
