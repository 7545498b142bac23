"""error(avg(price)): the standard error of an answer, which Spark does not know.

Spark reads all rows, so to it an error is 0 where there is an answer: `if(avg(price) IS NULL, NULL, 0.0D)`. The tree
has that form too, so that all else of the reader sees nothing new, and a mark by which the call is known again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from weft.aggregates import ERRORS, find
from weft.model.query import ERROR_OF
from weft.sql.dialect import VERBATIM
from weft.sql.text import Cut, Text

FUNCTION, MARK = "error", "weft_error"
BEFORE, AFTER = "if((", ") IS NULL, NULL, 0.0D)"
TAKES = ", ".join(aggregate.name.removeprefix(ERROR_OF) for aggregate in ERRORS)


def lift_errors(text: Text, select: exp.Select, tokens: Sequence[Token]) -> Text:
    """The text as Spark sees it; in the tree each error becomes what it is to Spark, and bears a mark."""
    if FUNCTION not in text.sql.lower() or FUNCTION in text.defined:
        return text
    found = [call for call in select.find_all(exp.Anonymous) if call.name.lower() == FUNCTION]
    for call in found:
        require_call(text, call)
    for item in select.expressions:
        unnamed = None if isinstance(item, exp.Alias) else next((c for c in found if is_within(c, item)), None)
        if unnamed is not None:
            raise text.refused(unnamed, "an error has no name of its own.",
                               "Write error(avg(price)) AS price_error, or any other name.")
    for call in found:
        call.replace(marked(call.expressions[0]))
    return replace(text, cuts=(*text.cuts, *(cut for place in error_places(tokens) for cut in cut_call(tokens, place))))


def require_call(text: Text, call: exp.Anonymous) -> None:
    """Refuse what is no error of an aggregate that has one."""
    inner = call.expressions[0].unnest() if len(call.expressions) == 1 else None
    function = inner.this if isinstance(inner, exp.Filter) else inner
    known = text.aggregate(function.name) if isinstance(function, exp.Anonymous) else None
    distinct = function is not None and function.find(exp.Distinct)
    if known is None or find(ERROR_OF + known.name) is None or distinct:
        raise text.refused(call, f"error() takes one call of {TAKES}.", "Write error(avg(price)) AS price_error.")


def is_within(node: exp.Expr, root: exp.Expr) -> bool:
    """Whether a node is a part of a tree."""
    return any(part is node for part in root.walk())


def marked(inner: exp.Expr) -> exp.Expr:
    """What an error is to Spark, with a mark."""
    words = "if(x IS NULL, NULL, 0.0D)"
    tree = VERBATIM.parser().parse(VERBATIM.tokenize(words), words)[0]
    assert tree is not None
    node = next(iter(tree.find_all(exp.Column)))
    node.replace(inner.copy())
    tree.meta[MARK] = True
    return tree


def error_call(node: exp.Expr) -> exp.Expr | None:
    """The call whose error a node is, None where it is none."""
    return node.expressions[0].this if node.meta.get(MARK) else None


def error_places(tokens: Sequence[Token]) -> list[int]:
    """Where `error(` stands among the tokens."""
    return [i for i in range(len(tokens) - 1) if tokens[i].text.lower() == FUNCTION
            and tokens[i].token_type != TokenType.STRING and tokens[i + 1].token_type == TokenType.L_PAREN]


def cut_call(tokens: Sequence[Token], place: int) -> tuple[Cut, Cut]:
    """What stands instead of `error(` and of its closing parenthesis."""
    depth = 0
    for token in tokens[place + 1 :]:
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if not depth:
            break
    return ((tokens[place].start, tokens[place + 1].end + 1, BEFORE), (token.start, token.end + 1, AFTER))
