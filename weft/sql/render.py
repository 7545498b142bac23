"""Trees written back as canonical Spark SQL, and the texts that stand for a whole query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from weft.model.query import WINDOW
from weft.model.window import Window
from weft.sql.dialect import KEYWORDS, VERBATIM
from weft.sql.text import Text

SOURCE = "__weft_source__"
PROBE = "'1 second'"  # a tumbling window: Spark copies each row range/slide times, and its analysis pays for it
QUALIFIERS = ("table", "db", "catalog")

# One generator for all: it keeps no state between expressions, and making one costs more than using it.
_GENERATOR = VERBATIM.generator(normalize_functions=False, comments=False)


def sql(node: exp.Expr) -> str:
    """The canonical Spark SQL of an expression."""
    return _plain_column(node) or _GENERATOR.sql(node)


def _plain_column(node: exp.Expr) -> str:
    """The name of a column that is nothing but a name without backticks, '' for all else: most expressions are one, and
    the generator takes ten times as long for it."""
    name = node.args["this"] if type(node) is exp.Column and not any(map(node.args.get, QUALIFIERS)) else None
    return name.args["this"] if type(name) is exp.Identifier and not name.args.get("quoted") else ""


def identifier(name: str) -> exp.Identifier:
    """An identifier, quoted only where it must be."""
    return exp.Identifier(this=name, quoted=not is_plain(name))


def is_plain(name: str) -> bool:
    """Whether a name needs no backticks."""
    return name.isascii() and name.isidentifier() and name.upper() not in KEYWORDS


def quoted(name: str) -> str:
    """A name as Spark SQL, in backticks only where it needs them."""
    return name if is_plain(name) else "`" + name.replace("`", "``") + "`"


def can_be_called(name: str) -> bool:
    """Whether `name(x)` reads as a plain call of a function."""
    try:
        text = f"SELECT {name}(x)"
        tree = VERBATIM.parser().parse(VERBATIM.tokenize(text), text)[0]
    except SqlglotError:
        return False
    call = tree.expressions[0] if isinstance(tree, exp.Select) and len(tree.expressions) == 1 else None
    return is_plain(name) and isinstance(call, exp.Anonymous) and call.name.lower() == name.lower()


def window_call(time: str, window: Window | None) -> str:
    """The window() call of a window, or the cheap one that has the same type."""
    if window is None:
        return f"window({time}, {PROBE})"
    return f"window({time}, {', '.join(_micros(part) for part in (window.range, window.slide, window.start))})"


def whole(items: Sequence[tuple[str, str]], where: str | None, groups: Sequence[str], having: str | None) -> str:
    """The whole query over `__weft_source__`; groups include the window call, and `__window` reads as window."""
    select = ", ".join(f"{item} AS {quoted(alias)}" if alias else item for item, alias in items)
    clauses = [f"SELECT {select} FROM {SOURCE}"]
    clauses += [f"WHERE {where}"] if where else []
    clauses += [f"GROUP BY {', '.join(groups)}"]
    clauses += [f"HAVING {having}"] if having else []
    return " ".join(clauses).replace(WINDOW, "window")


def native(text: Text, table: exp.Table, end: int) -> str:
    """The user's own text with the source replaced; names qualified with it or its alias still resolve."""
    return text.splice([_source(text, table)], end)


def probe(text: Text, tokens: Sequence[Token], table: exp.Table, end: int) -> str:
    """The native text with every window() call made a cheap tumbling one of the same type."""
    return text.splice([_source(text, table), *window_sizes(tokens)], end)


def _source(text: Text, table: exp.Table) -> tuple[int, int, str]:
    spans = [part._meta for part in table.parts if part._meta]
    start, stop = spans[0]["start"], spans[-1]["end"] + 1
    name = text.sql[spans[-1]["start"] : stop]
    return start, stop, SOURCE if table.alias else f"{SOURCE} AS {name}"


def window_sizes(tokens: Sequence[Token]) -> Iterator[tuple[int, int, str]]:
    """The span of each window() call from its first comma to its end, and what to put there."""
    for i in range(len(tokens) - 1):
        if tokens[i].text.lower() == "window" and tokens[i + 1].token_type == TokenType.L_PAREN:
            comma, close = _comma_and_close(tokens, i + 1)
            yield tokens[comma].start, tokens[close].start, f", {PROBE}"


def _comma_and_close(tokens: Sequence[Token], opened: int) -> tuple[int, int]:
    depth, comma = 0, -1
    for i in range(opened, len(tokens)):
        kind = tokens[i].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth == 1 and kind == TokenType.COMMA and comma < 0:
            comma = i
        if not depth:
            return comma, i
    return comma, len(tokens) - 1


def _micros(micros: int) -> str:
    seconds, rest = divmod(micros, 1_000_000)
    return f"'{micros} microseconds'" if rest else f"'{seconds} seconds'"
