"""The papers' join windows, `FROM a [RANGE 10 min], b [RANGE 5 min]`, lifted out of the token list (004 Def. 2).

A row stays in its stream's window for so long: two rows meet if the later one comes before the earlier one has left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokens import Token, TokenType

from weft.sql.spellings import opens_papers, short_duration
from weft.sql.text import Cut, Text

EXAMPLE = "Write FROM a [RANGE 10 min], b [RANGE 5 min] WHERE a.k = b.k ... GROUP BY window(a.ts, '10 minutes')."
JOINS = (TokenType.COMMA, TokenType.JOIN)
ENDS = (TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY)


@dataclass(frozen=True)
class JoinWindow:
    """How many microseconds rows of a stream stay joinable, and the bracket that says so."""

    micros: int
    at: Token
    close: Token

    @property
    def cut(self) -> Cut:
        """The bracket, which Spark does not see."""
        return self.at.start, self.close.end + 1, ""


def lift_join_windows(text: Text, tokens: list[Token]) -> tuple[list[Token], tuple[JoinWindow, ...]]:
    """The tokens without the brackets behind tables that are joined, and the windows in them."""
    if not joins_tables(tokens):
        return tokens, ()
    found, rest, i = [], [], 0
    while i < len(tokens):
        if tokens[i].token_type == TokenType.L_BRACKET and opens_papers(tokens, i):
            close = closing_bracket(text, tokens, i)
            found.append(read_bracket(text, tokens[i : close + 1]))
            i = close + 1
        else:
            rest.append(tokens[i])
            i += 1
    return rest, tuple(found)


def joins_tables(tokens: Sequence[Token]) -> bool:
    """Whether FROM has more than one table; a comma within parentheses or brackets joins nothing."""
    depth, inside = 0, False
    for token in tokens:
        kind = token.token_type
        depth += (kind in (TokenType.L_PAREN, TokenType.L_BRACKET)) - (kind in (TokenType.R_PAREN, TokenType.R_BRACKET))
        inside = (not depth and (kind == TokenType.FROM or (inside and kind not in ENDS))) or (inside and bool(depth))
        if inside and not depth and kind in JOINS:
            return True
    return False


def closing_bracket(text: Text, tokens: Sequence[Token], i: int) -> int:
    """The place of the bracket that closes the one at `i`."""
    close = next((j for j in range(i, len(tokens)) if tokens[j].token_type == TokenType.R_BRACKET), None)
    if close is None:
        raise text.unreadable(tokens[i], "the window's bracket is not closed.", EXAMPLE)
    return close


def read_bracket(text: Text, tokens: Sequence[Token]) -> JoinWindow:
    """The window between two brackets."""
    at, unit, close = tokens[0], tokens[1], tokens[-1]
    if unit.text.upper() == "ROWS":
        raise text.refused(at, "Weft joins windows of time, not of so many rows.",
                           "Write how long rows can be joined: a [RANGE 10 min].")
    if any(token.text.upper() == "SLIDE" for token in tokens):
        raise text.refused(at, "the window of a join has no slide.",
                           "Write a [RANGE 10 min] here, and the window of the answers in GROUP BY window(a.ts, ...).")
    words = text.sql[unit.end + 1 : close.start]
    micros = short_duration(text, unit, words)
    return JoinWindow(micros, at, close)
