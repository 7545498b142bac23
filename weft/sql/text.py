"""A query's text: its tokens, the place of a node in it, and the errors that name that place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token

from weft.aggregates import Aggregate, find
from weft.errors import CheckError, ParseError, Place, QueryError, RefusedError
from weft.sql.dialect import VERBATIM

_OPENERS = re.compile(r"['\"`]|/\*")
Spot = exp.Expr | Token | int | None  # whatever an error can point at
Cut = tuple[int, int, str]  # a span of the text, from and to, and what stands there instead


@dataclass(frozen=True)
class Text:
    """The name and the text of a query, which every error about it carries, and the user's aggregates it may call.

    `cuts` are parts of the text that Spark does not see.
    """

    name: str
    sql: str
    defined: Mapping[str, Aggregate] = field(default_factory=dict)
    cuts: tuple[Cut, ...] = ()

    def aggregate(self, name: str) -> Aggregate | None:
        """The aggregate of that name: a user's own, or one of Weft's."""
        return self.defined.get(name.lower()) or find(name)

    def refused(self, at: Spot, reason: str, hint: str = "") -> RefusedError:
        """The error for good SQL that Weft does not run."""
        return RefusedError(self.name, reason, place=self.place(at), hint=hint)

    def unreadable(self, at: Spot, reason: str, hint: str = "") -> ParseError:
        """The error for text that is no SQL."""
        return ParseError(self.name, reason, place=self.place(at), hint=hint)

    def wrong(self, at: Spot, reason: str, hint: str = "") -> CheckError:
        """The error for SQL that does not fit its source."""
        return CheckError(self.name, reason, place=self.place(at), hint=hint)

    def place(self, at: Spot) -> Place | None:
        """The line and column of a node, a token or an offset."""
        offset = at if isinstance(at, int) else at.start if isinstance(at, Token) else start_of(at)
        if offset is None:
            return None
        return Place(self.sql.count("\n", 0, offset) + 1, offset - self.sql.rfind("\n", 0, offset))

    def tokens(self) -> list[Token]:
        """The tokens of the text."""
        try:
            return VERBATIM.tokenize(self.sql)
        except SqlglotError as error:
            at = self._unclosed()
            reason = "a quote or a comment is not closed." if at is not None else f"the SQL cannot be read: {error}."
            raise self.unreadable(at, reason, "Close it.") from None

    def trees(self, tokens: list[Token]) -> list[exp.Expr]:
        """The statements that the tokens make."""
        try:
            found: list[exp.Expr | None] = list(VERBATIM.parser().parse(tokens, self.sql))
        except SqlglotError as error:
            raise self._unparsed(error) from None
        return [tree for tree in found if tree is not None]

    def _unparsed(self, error: SqlglotError) -> QueryError:
        """The error with sqlglot's own place: its column is where the word it stumbled on ends."""
        first = (getattr(error, "errors", None) or [{}])[0]
        line, end, word = first.get("line"), first.get("col"), first.get("highlight") or ""
        place = Place(line, max(1, end - len(word) + 1)) if line and end else None
        reason = f"the SQL cannot be read near '{word}'." if word else "the SQL cannot be read."
        return ParseError(self.name, reason, place=place, hint="Check the spelling and the order of the clauses.")

    def _unclosed(self) -> int | None:
        """The offset of the quote or comment that never ends: the last one before which the text is sound."""
        for found in reversed(list(_OPENERS.finditer(self.sql))):
            with suppress(SqlglotError):
                VERBATIM.tokenize(self.sql[: found.start()])
                return found.start()
        return None

    def splice(self, parts: Iterable[Cut], end: int) -> str:
        """The text up to `end` with each span (start, stop) and what Spark does not see replaced, all in one go."""
        pieces, done = [], 0
        for start, stop, new in sorted((*parts, *(cut for cut in self.cuts if cut[0] < end))):
            pieces += [self.sql[done:start], new]
            done = stop
        return "".join(pieces) + self.sql[done:end]


def start_of(node: exp.Expr | None) -> int | None:
    """The offset of the leftmost word of a node, or None where no word of it has a known place."""
    if node is None:
        return None
    starts = [part._meta["start"] for part in node.walk() if part._meta and "start" in part._meta]
    return min(starts, default=None)
