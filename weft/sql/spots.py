"""Where in the text a clause or a node stands, for nodes that carry no place of their own."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from weft.sql.text import Spot, start_of

WORDS = {
    "with_": "WITH", "distinct": "DISTINCT", "order": "ORDER BY", "sort": "SORT BY", "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY", "limit": "LIMIT", "offset": "OFFSET", "qualify": "QUALIFY",
    "sample": "TABLESAMPLE", "pivots": "PIVOT",
}  # fmt: skip
NODE_WORDS: dict[type[exp.Expr], str] = {
    exp.CurrentDate: "CURRENT_DATE",
    exp.CurrentTimestamp: "CURRENT_TIMESTAMP",
    exp.CurrentUser: "CURRENT_USER",
    exp.SessionUser: "SESSION_USER",
}
MARKS = (TokenType.PARAMETER, TokenType.PLACEHOLDER, TokenType.COLON)


def keyword(tokens: Sequence[Token], clause: str) -> Token | None:
    """The token that starts a clause, by sqlglot's name for it."""
    return word(tokens, WORDS[clause]) if clause in WORDS else None


def word(tokens: Sequence[Token], text: str, before: int | None = None) -> Token | None:
    """The first token with this text, or the last one before an offset."""
    found = [token for token in tokens if " ".join(token.text.upper().split()) == text]
    if before is not None:
        found = [token for token in found if token.start < before][::-1]
    return found[0] if found else None


def symbol(tokens: Sequence[Token], *kinds: TokenType) -> Token | None:
    """The first token of these kinds."""
    return next((token for token in tokens if token.token_type in kinds), None)


def spot(node: exp.Expr, tokens: Sequence[Token]) -> Spot:
    """The place of a refused node: its own word where it has one, else its first word."""
    if isinstance(node, exp.Distinct):
        return word(tokens, "DISTINCT", start_of(node))
    if isinstance(node, exp.Select | exp.Subquery):
        return symbol(tokens[1:], TokenType.SELECT)
    if type(node) in NODE_WORDS:
        return word(tokens, NODE_WORDS[type(node)])
    if isinstance(node, exp.Parameter | exp.Placeholder | exp.SessionParameter):
        return symbol(tokens, *MARKS)
    return node
