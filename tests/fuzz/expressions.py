"""Random expressions: over a row's columns, as arguments and conditions; and over aggregates, as outputs.

Every expression has a family, which says what may be done with it. What Spark does not determine is left out: ties of
`min_by` and `mode`, the order of lists, ranks among NaN.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.fuzz.literals import literal

INTEGRAL = ("‹t›", "‹sh›", "‹i›", "‹n›", "‹g›", "‹addr.zip›")
DECIMAL = ("‹d›", "‹w›", "‹e›", "‹m›")
REAL = ("‹x›", "‹f›")
BY_FAMILY = {"int": INTEGRAL, "decimal": DECIMAL, "real": REAL, "text": ("‹k›", "‹s›", "‹addr.city›"),
             "date": ("‹day›",), "time": ("‹at›", "‹ts›", "‹nt›"), "bytes": ("‹bin›",), "truth": ("‹b›",)}
NUMERIC = ("int", "decimal", "real")
ORDERED = (*NUMERIC, "text", "date", "time", "bytes", "truth")
COMPARE = ("=", "<>", "<", "<=", ">", ">=", "<=>", "!=")
UNIQUE = ("‹i›", "‹n›", "-CAST(‹i› AS BIGINT)")


@dataclass(frozen=True)
class Value:
    """An expression with its family; `loose` and `bag` as in an `Item`."""

    sql: str
    family: str
    loose: bool = False
    bag: bool = False


class Drawer:
    """Draws expressions; structure and literals come from two streams, so that a shape can be drawn with others."""

    # Of what families answers are, and which aggregates give whole numbers and numbers.
    ordered: tuple[str, ...] = ORDERED
    answers: tuple[str, ...] = ("int", "int", "decimal", "real", "any", "text", "date", "time", "truth", "bytes",
                                "loose")
    counts: tuple[str, ...] = ("count", "count", "columns", "count_if", "distinct", "approx", "bits")
    numbers: tuple[str, ...] = ("sum", "sum", "avg", "mean", "median", "percentile", "percentile_approx",
                                "approx_percentile")
    picks: tuple[str, ...] = ("min", "max", "min", "max", "min_by", "max_by", "mode")

    def __init__(self, rng: random.Random, literals: random.Random):
        self.rng, self.literals = rng, literals
        self.tags: list[str] = []

    def literal(self, family: str) -> str:
        """A literal of a family."""
        return literal(self.literals, family)

    def often(self, share: float) -> bool:
        """True in a share of all cases."""
        return self.rng.random() < share

    # Over a row

    def column(self, family: str) -> str:
        """A column of a family."""
        return self.rng.choice(BY_FAMILY[family])

    def argument(self, family: str) -> str:
        """An argument of an aggregate: mostly a column, else something over columns."""
        column = self.column(family)
        if self.often(0.6):
            return column
        if family == "int":
            return self.rng.choice([f"‹g› + {self.literal('small')}", f"{column} % 7", "CAST(‹s› IS NULL AS INT)",
                                    f"coalesce({column}, {self.literal('small')})", "length(‹s›)", "‹big›",
                                    f"CASE WHEN {self.condition()} THEN {column} ELSE ‹t› END", "‹g› * ‹t›"])
        if family == "decimal":
            return self.rng.choice([f"‹d› + {self.literal('decimal')}", f"‹m› * {self.literal('decimal')}",
                                    f"-{column}", f"nullif({column}, 0)", "CAST(‹i› AS DECIMAL(20,4))", "‹d› * ‹g›"])
        if family == "real":
            return self.rng.choice([f"‹x› * {self.literal('dyadic')}", "nanvl(‹x›, 0)", "CAST(‹t› AS DOUBLE)",
                                    "abs(‹f›)", f"IF({self.condition()}, ‹x›, NULL)", "‹x› + ‹t›"])
        if family == "text":
            return self.rng.choice([f"upper({column})", f"coalesce({column}, {self.literal('text')})",
                                    f"concat({column}, {self.literal('text')})", "CAST(‹g› AS STRING)", "‹k› || ‹s›"])
        if family == "time":
            return self.rng.choice([f"‹at› + {self.literal('interval')}", "date_trunc('HOUR', ‹at›)", "‹nt›"])
        if family == "date":
            return self.rng.choice(["date_add(‹day›, ‹t›)", "CAST(‹at› AS DATE)", f"‹day› - {self.literal('month')}"])
        return self.condition() if family == "truth" else column

    def condition(self, depth: int = 0) -> str:
        """A condition on a row, some of which no row meets."""
        if depth < 2 and self.often(0.2):
            a, b = self.condition(depth + 1), self.condition(depth + 1)
            return self.rng.choice([f"({a}) AND ({b})", f"({a}) OR ({b})", f"NOT ({a})"])
        family = self.rng.choice(("int", "decimal", "real", "text", "date", "time", "truth", "null", "never"))
        if family == "never":
            return self.rng.choice(["false", "‹g› < -5", "‹s› = 'nothing'", "‹x› IS NULL AND ‹x› > 1"])
        if family == "null":
            return f"{self.column(self.rng.choice(ORDERED))} IS {self.rng.choice(['', 'NOT '])}NULL"
        if family == "truth":
            return self.rng.choice(["‹b›", "NOT ‹b›", "‹b› IS TRUE", "array_contains(‹tags›, 'a')",
                                    "‹addr.zip› > 1", "isnan(‹h›)"])
        if family == "text":
            return self.rng.choice([f"‹k› = {self.literal('text')}", f"‹s› LIKE {self.literal('text')}",
                                    f"‹s› IN ({self.literal('text')}, {self.literal('text')})", "‹k› IN ('k0', 'k1')",
                                    f"‹s› > {self.literal('text')}"])
        column, other = self.column(family), self.literal(family)
        return self.rng.choice([f"{column} {self.rng.choice(COMPARE)} {other}", f"{other} < {column}",
                                f"{column} BETWEEN {self.literal(family)} AND {other}",
                                f"{column} IN ({other}, {self.literal(family)})"])

    # Aggregates

    def filtered(self, call: str) -> str:
        """The call, some with a FILTER."""
        if not self.often(0.25):
            return call
        self.tags.append("FILTER")
        return f"{call} FILTER (WHERE {self.condition()})"

    def call(self, name: str, *args: str) -> str:
        """A call of an aggregate, noted."""
        self.tags.append(name)
        return self.filtered(f"{name}({', '.join(args)})")

    def aggregate(self, family: str | None = None) -> Value:
        """An aggregate whose answer is of a family, whatever it is where none is given."""
        wanted = family or self.rng.choice(self.answers)
        if wanted == "loose":
            return self.loose()
        if wanted == "any":
            return self.rng.choice([self.bag, self.array])()
        return Value(self.exact(wanted), wanted)

    def exact(self, family: str) -> str:
        """An aggregate that Spark determines to the last digit."""
        if family == "truth" and self.often(0.7):
            return self.call(self.rng.choice(["bool_and", "bool_or", "every", "any", "some"]), self.argument("truth"))
        if family == "int" and self.often(0.65):
            return self.counted()
        if family in NUMERIC and self.often(0.5):
            return self.number(family)
        name = self.rng.choice(self.picks)
        more = {"min": [], "max": [], "mode": ["true"]}.get(name, [self.rng.choice(UNIQUE)])
        return self.call(name, self.argument(family), *more)

    def counted(self) -> str:
        """An aggregate that gives a whole number."""
        kind = self.rng.choice(self.counts)
        family = self.rng.choice(ORDERED)
        if kind == "count":
            return self.call("count", self.rng.choice(["*", self.argument(family), "1"]))
        if kind == "columns":
            return self.call("count", self.column(family), self.column(self.rng.choice(ORDERED)))
        if kind == "count_if":
            return self.call("count_if", self.condition())
        if kind == "distinct":
            self.tags.append("count(DISTINCT)")
            more = f", {self.column(self.rng.choice(ORDERED))}" if self.often(0.3) else ""
            return self.filtered(f"count(DISTINCT {self.argument(family)}{more})")
        if kind == "approx":
            return self.call("approx_count_distinct", self.argument(family), *(["0.1"] if self.often(0.3) else []))
        return self.call(self.rng.choice(["bit_and", "bit_or", "bit_xor"]), self.argument("int"))

    def number(self, family: str) -> str:
        """A sum, an average or a percentile of numbers of a family."""
        # Spark's percentile_approx gives decimals without their zeros, which shows where they become texts.
        name = self.rng.choice([one for one in self.numbers if family != "decimal" or "approx" not in one])
        ranked = "nanvl(‹x›, 0)" if family == "real" else self.column(family)
        if name in ("sum", "avg", "mean"):
            return self.call(name, self.argument(family))
        if name == "median":
            return self.call(name, ranked)
        more = ["1000"] if "approx" in name and self.often(0.3) else []
        return self.call(name, ranked, self.rng.choice(["0", "0.5", "0.9", "1", "0.999"]), *more)

    def loose(self) -> Value:
        """A moment, which is rounded on its way."""
        one = ("var_pop", "var_samp", "variance", "stddev_pop", "stddev_samp", "stddev", "std", "skewness", "kurtosis")
        two = ("covar_pop", "covar_samp", "corr")
        family = self.rng.choice(NUMERIC)
        first = self.rng.choice(("‹t›", "‹sh›", "‹g›", "‹i›") if family == "int" else BY_FAMILY[family])
        if self.often(0.7):
            return Value(self.call(self.rng.choice(one), first), "real", loose=True)
        second = self.rng.choice(("‹t›", "‹sh›", "‹x›", "‹d›"))
        return Value(self.call(self.rng.choice(two), first, second), "real", loose=True)

    def bag(self) -> Value:
        """A list of values, in order or not."""
        name = self.rng.choice(["collect_list", "array_agg", "collect_set"])
        family = self.rng.choice(ORDERED)
        nested = name != "collect_set" and self.often(0.15)
        call = self.call(name, self.rng.choice(["‹addr›", "‹tags›"]) if nested else self.argument(family))
        return self.rng.choice([Value(f"sort_array({call})", "list"), Value(f"size({call})", "int"),
                                Value(call, "list", bag=True), Value(f"named_struct('a', {call})", "list", bag=True),
                                Value(f"array_max({call})" if not nested else f"size({call})", "other")])

    def array(self) -> Value:
        """Several percentiles at once."""
        name = self.rng.choice(["percentile", "percentile_approx"])
        ranked = self.rng.choice(("‹i›", "‹n›", "nanvl(‹x›, 0)", "‹d›"))
        return Value(self.call(name, ranked, "array(0.25, 0.5, 0.999)"), "list")

    # Over aggregates

    def output(self, depth: int = 0) -> Value:
        """An output: an aggregate, or an expression over several."""
        if self.often(0.5) or depth > 2:
            return self.aggregate()
        return self.rng.choice(self.nestings())(depth)

    def nestings(self) -> list[Callable[[int], Value]]:
        """The ways to make an output of several aggregates."""
        return [self.arithmetic, self.arithmetic, self.chosen, self.filled, self.converted, self.built, self.timed,
                self.textual]

    def arithmetic(self, depth: int) -> Value:
        """Numbers with literals or with one another."""
        family = self.rng.choice(("int", "int", "decimal", "real"))
        one = self.exact(family)
        self.tags.append("arithmetic")
        kind = self.rng.choice(("int", "decimal", "real")) if self.often(0.7) else None
        other = self.literal(kind) if kind else self.exact(self.rng.choice(NUMERIC))
        sql = self.rng.choice([f"{one} + {other}", f"{one} * {other}", f"{one} - {other}", f"{other} - {one}",
                               f"try_add({one}, {other})", f"try_multiply({one}, {other})", f"{one} / 4",
                               f"try_divide({one}, {other})", f"-{one}", f"{one} % 7", f"round({one}, 1)",
                               f"({one} + {self.literal('small')}) * {other}", f"abs({one})"])
        return Value(sql, "number")

    def chosen(self, depth: int) -> Value:
        """A CASE, IF or coalesce over aggregates of one family."""
        family = self.rng.choice(self.ordered)
        a, b, c = self.exact(family), self.exact(family), self.truth()
        self.tags.append("CASE")
        sql = self.rng.choice([f"CASE WHEN {c} THEN {a} ELSE {b} END", f"CASE WHEN {c} THEN {a} END",
                               f"if({c}, {a}, {b})", f"coalesce({a}, {b})", f"nullif({a}, {b})",
                               f"CASE WHEN {c} THEN {a} WHEN {self.truth()} THEN {self.literal(family)} ELSE {b} END"])
        return Value(sql, "other")

    def truth(self) -> str:
        """A condition over aggregates."""
        families = ("int", "int", "decimal", "real", "text", "truth")
        family = self.rng.choice([one for one in families if one in self.ordered])
        value = self.exact(family)
        if family == "truth":
            return value
        return self.rng.choice([f"{value} {self.rng.choice(COMPARE)} {self.literal(family)}", f"{value} IS NULL",
                                f"{value} IS NOT NULL", f"{value} IN ({self.literal(family)}, {self.literal(family)})",
                                "count(*) > 1", f"count(*) > {self.literal('small')}"])

    def filled(self, depth: int) -> Value:
        """A coalesce with a literal."""
        family = self.rng.choice(self.ordered)
        self.tags.append("coalesce")
        return Value(f"coalesce({self.exact(family)}, {self.literal(family)})", "other")

    def converted(self, depth: int) -> Value:
        """A cast."""
        self.tags.append("CAST")
        cast = self.rng.choice(("CAST", "TRY_CAST", "TRY_CAST"))
        number = self.exact(self.rng.choice(NUMERIC))
        kind = self.rng.choice(("STRING", "DOUBLE", "DECIMAL(38,10)", "DECIMAL(30,2)", "BIGINT", "FLOAT"))
        if self.often(0.3):
            return Value(f"{self.rng.choice(['string', 'double'])}({number})", "other")
        return Value(f"{cast}({number} AS {kind})", "other")

    def built(self, depth: int) -> Value:
        """A struct, an array or a map of outputs."""
        one, two = self.output(depth + 1), self.output(depth + 1)
        self.tags.append("nested")
        family = self.rng.choice(ORDERED)
        a, b = self.exact(family), self.exact(family)
        loose, bag = one.loose or two.loose, one.bag or two.bag
        return self.rng.choice([
            Value(f"named_struct('a', {one.sql}, 'b c', {two.sql})", "other", loose, bag),
            Value(f"array({a}, {b})", "other"), Value(f"map('a', {a}, 'b', {b})", "other"),
            Value(f"array({a}, {self.literal(family)})", "other"), Value(f"to_json(named_struct('a', {a}))", "other"),
            Value(f"transform(sort_array({self.listed('int')}), v -> v + {self.literal('small')})", "other"),
            Value(f"array_join(sort_array({self.listed('text')}), ',')", "other"),
            Value(f"filter(sort_array({self.listed('decimal')}), v -> v > {self.literal('small')})", "other"),
        ])

    def listed(self, family: str) -> str:
        """A list of the values of a column."""
        return self.call(self.rng.choice(["collect_list", "collect_set"]), self.column(family))

    def timed(self, depth: int) -> Value:
        """Dates and times with intervals, and the window's own."""
        self.tags.append("times")
        time, day = self.exact("time"), self.exact("date")
        return Value(self.rng.choice([
            f"{time} + {self.literal('interval')}", f"{day} + {self.literal('month')}",
            f"{time} > {self.literal('time')}", f"date_trunc('HOUR', {time})",
            f"date_format({time}, 'yyyy-MM-dd HH:mm')", f"extract(HOUR FROM {time})", "‹:start› + INTERVAL '1' HOUR",
            "CAST(‹:end› AS DATE)", "hour(‹:end›)", f"datediff({day}, DATE'2020-01-01')", f"{time} - ‹:start›",
            f"CAST({day} AS STRING)", "date_format(‹:start›, 'HH:mm:ss')",
        ]), "other")

    def textual(self, depth: int) -> Value:
        """Texts over texts."""
        text, number = self.exact("text"), self.exact("int")
        self.tags.append("texts")
        return Value(self.rng.choice([
            f"concat({text}, '/', {number})", f"upper({text})", f"length({text})", f"{text} || {self.literal('text')}",
            f"concat_ws(',', {text}, {self.literal('text')})", f"substring({text}, 1, 2)", f"{text} LIKE '%a%'",
            f"replace({text}, 'a', {self.literal('text')})",
        ]), "other")


class Folded(Drawer):
    """Draws aggregates whose slices hold a few numbers each: in a stream the workers can cut them."""

    ordered = ("int", "decimal", "real", "date", "time", "truth")
    answers = ("int", "int", "decimal", "real", "date", "time", "truth", "loose")
    counts = ("count", "count", "columns", "count_if", "bits")
    numbers = ("sum", "avg", "mean")
    picks = ("min", "max", "min", "max", "min_by", "max_by")

    def nestings(self) -> list[Callable[[int], Value]]:
        """Those without texts and lists."""
        return [self.arithmetic, self.chosen, self.filled, self.converted, self.timed]
