"""Outputs and HAVING as expressions that Spark can name and type one by one, apart from the query they stand in.

Many queries can then be asked about in one analysis, and what is known of an expression serves every query that has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from weft.model.query import CALL, KEY, WINDOW, Query
from weft.sql.clauses import is_window
from weft.sql.qualify import Scope
from weft.sql.render import quoted

# What is asked of an output that has an alias is its type alone.
UNNAMED = " AS _"
PLACED = re.compile("|".join(re.escape(name).replace(r"\{\}", r"(\d+)") for name in (KEY, CALL)))


@dataclass(frozen=True)
class Item:
    """One output, or HAVING, as it stands in a SELECT list over the source's rows in groups.

    Items of one `text` over one source have the same name and type. Those of one `loose` text have the same type,
    unless an argument or a key gives a decimal (see `Shape`).
    """

    text: str
    loose: str


def stands_apart(scope: Scope, select: exp.Select, nodes: Sequence[exp.Expr]) -> bool:
    """Whether Spark says of each expression by itself what it says of it within the query, as far as the tree tells.

    A hint may be wrong, a struct has the names of what is in it as the user spells them, and to Spark aggregates in
    Python stand beside no others.
    """
    if select.args.get("hint") or "window" in scope.schema.spelling:
        return False
    defined = scope.text.defined
    return not any(isinstance(node, exp.Tuple) or (isinstance(node, exp.Anonymous) and (
        node.name.lower() == "struct" or node.name.lower() in defined)) for node in nodes)


def groups_plainly(groups: Sequence[exp.Expr], keys: Sequence[exp.Expr]) -> bool:
    """Whether GROUP BY holds nothing but keys and the window."""
    return all(is_window(node) or node.unnest() in keys for node in groups)


def own_words(scope: Scope, items: Sequence[exp.Expr], tokens: Sequence[Token]) -> list[str] | None:
    """The words of each output that has no alias, by which Spark names it, '' for the others; None where they mean
    something else, or nothing, over another FROM."""
    spans = list(_spans(tokens))
    if len(spans) != len(items):
        return None
    found = []
    for item, (first, last) in zip(items, spans, strict=True):
        words = "" if isinstance(item, exp.Alias) else _words(scope, item, scope.text.sql[first:last])
        if words is None:
            return None
        found.append(words)
    return found


def make_items(query: Query, texts: Sequence[str], loose: Sequence[str], words: Sequence[str]) -> tuple[Item, ...]:
    """The outputs of a query in canonical `texts`, and its HAVING, if any, as the last of them; in `loose` numbers are
    types, and keys and calls have the query's numbers."""
    own = [*(output.sql for output in query.outputs), *([query.having] if query.having else [])]
    return tuple(_item(query, *parts) for parts in zip(texts, own, loose, (*words, "")[: len(own)], strict=True))


def _item(query: Query, text: str, own: str, loose: str, words: str) -> Item:
    asked = words or text.replace(WINDOW, "window") + UNNAMED
    return Item(asked, asked if words or loose == own else _spelled(query, loose) + UNNAMED)


def _spelled(query: Query, loose: str) -> str:
    """The text with each key and call written out in place of its number."""
    def written(found: re.Match[str]) -> str:
        return query.keys[int(found[1])] if found[1] else str(query.calls[int(found[2])])

    return PLACED.sub(written, loose)


def _spans(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Where each item of the SELECT list begins and ends in the text."""
    depth, first = 0, 1
    for i, token in enumerate(tokens):
        kind = token.token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if i and not depth and kind in (TokenType.COMMA, TokenType.FROM):
            yield tokens[first].start, tokens[i - 1].end + 1
            first = i + 1
            if kind == TokenType.FROM:
                return


def _words(scope: Scope, item: exp.Expr, written: str) -> str | None:
    """The words of an output without alias; a plain column's without the source's name before it."""
    columns = list(item.find_all(exp.Column))
    if isinstance(item, exp.Column) and not isinstance(item.this, exp.Star):
        names = [part.name for part in item.parts]
        return ".".join(map(quoted, names[1:] if _qualified(scope, item) else names))
    whole = any(call.name.lower() == "window" for call in item.find_all(exp.Anonymous))
    return None if whole or any(_qualified(scope, column) for column in columns) else written


def _qualified(scope: Scope, column: exp.Column) -> bool:
    """Whether the source's name or alias stands before the column's."""
    names = [scope.schema.fold(part.name) for part in column.parts]
    return len(names) > 1 and names[0] == scope.qualifier
