"""Spark's dialect read word for word: every function keeps the name the user gave it."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokens import TokenType

# sqlglot turns known functions into its own nodes and writes them back in its own words (to_timestamp
# becomes CAST, log10 becomes LOG(10, x)). Equal answers need the user's own words, so only the
# functions with a syntax of their own are read specially.
SPECIAL = ("CAST", "TRY_CAST", "EXTRACT", "TRIM")


# sqlglot reads 5L as 5::L. To Spark it is a literal, and a decimal's precision hangs on whether its neighbour is one.
SUFFIX = "suffix"
SUFFIXES = frozenset(("L", "S", "Y", "D", "F", "BD"))


def cast_or_suffix(parser: SparkParser, this: exp.Expr, to: exp.Expr) -> exp.Expr:
    """A cast by `::`, which remembers the suffix of a number if it was written as one."""
    cast = SparkParser.COLUMN_OPERATORS[TokenType.DCOLON](parser, this, to)  # type: ignore[misc]
    if parser._prev.text.upper() in SUFFIXES:
        cast.meta[SUFFIX] = parser._prev.text
    return cast


class VerbatimParser(SparkParser):
    """Spark's parser that knows no function by name, and numbers by their suffix."""

    COLUMN_OPERATORS: ClassVar[dict[Any, Any]] = {**SparkParser.COLUMN_OPERATORS, TokenType.DCOLON: cast_or_suffix}

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {name: SparkParser.FUNCTION_PARSERS[name] for name in SPECIAL}
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {"CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"]}


def write_cast(generator: SparkGenerator, node: exp.TryCast) -> str:
    """A cast, or a number with its suffix as it was written."""
    if suffix := node.meta.get(SUFFIX):
        return f"{node.this.name}{suffix}"
    return SparkGenerator.TRANSFORMS[exp.TryCast](generator, node)


class VerbatimGenerator(SparkGenerator):
    """Spark's generator that keeps four things sqlglot would write otherwise."""

    TRANSFORMS: ClassVar[dict[Any, Any]] = {**SparkGenerator.TRANSFORMS, exp.TryCast: write_cast}

    def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
        """A typed literal as it was written: as a cast, DATE 'epoch' would lose its meaning."""
        if is_typed_literal(expression):
            return f"{self.sql(expression, 'to')} {self.sql(expression, 'this')}"
        return super().cast_sql(expression, safe_prefix)

    def add_sql(self, expression: exp.Add) -> str:
        """INTERVAL 1 HOUR 30 MINUTES, which sqlglot reads as a sum, in parentheses: a minus may stand before it."""
        both = isinstance(expression.this, exp.Interval) and isinstance(expression.expression, exp.Interval)
        return f"({super().add_sql(expression)})" if both else super().add_sql(expression)

    def not_sql(self, expression: exp.Not) -> str:
        """IS NOT NULL as one predicate, which is how Spark reads it."""
        inner = expression.this
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
            return f"{self.sql(inner, 'this')} IS NOT NULL"
        return super().not_sql(expression)


class Verbatim(Spark):
    """Spark SQL in which functions stay as written and a doubled quote stands for a quote, as in Spark 4."""

    class Tokenizer(Spark.Tokenizer):
        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']
        # As a keyword, WINDOW would end the clause in GROUP BY window(...)
        KEYWORDS: ClassVar[dict[str, Any]] = {k: v for k, v in Spark.Tokenizer.KEYWORDS.items() if k != "WINDOW"}

    Parser = VerbatimParser
    Generator = VerbatimGenerator


def is_typed_literal(node: exp.Cast) -> bool:
    """Whether the cast was written DATE '...' or TIMESTAMP '...': sqlglot reads a CAST(...) as a TryCast."""
    return type(node) is exp.Cast and isinstance(node.this, exp.Literal) and node.this.is_string


VERBATIM = Verbatim()
KEYWORDS = frozenset(part for word in Spark.Tokenizer.KEYWORDS for part in word.split() if part.isalpha())
