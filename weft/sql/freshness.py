"""How fresh answers must be, apart from what they are: `/*+ EVERY('5 minutes') */`, `every="5 minutes"`, `SLIDE <=`.

The hint is read from the text and cut out of what Spark sees; every token keeps its place in the user's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot.tokens import Token, TokenType

from weft.errors import PlanError, QueryError
from weft.model.window import duration
from weft.sql.text import Cut, Text
from weft.sql.windows import LONGEST, parse_duration

HINT = "EVERY"
EXAMPLE = "Write SELECT /*+ EVERY('5 minutes') */ ..."
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_QUOTED = r"'[^']*'|\"[^\"]*\""
_ITEM = re.compile(rf"[A-Za-z_]\w*(?:\s*\((?:[^()'\"]|{_QUOTED})*\))?")
_BOUND = re.compile(rf"\w+\s*\(\s*({_QUOTED})\s*\)")


@dataclass(frozen=True)
class EveryHint:
    """A bound in microseconds, and the offset in the text at which it stands."""

    every: int
    at: int


def lift_every(text: Text, tokens: list[Token]) -> tuple[Text, list[Token], EveryHint | None]:
    """The text as Spark sees it and its tokens, without the hint, and the hint if there is one."""
    if HINT.lower() not in text.sql.lower():
        return text, tokens, None
    places = {at: words for at, words in _hints(text, tokens) if any(map(_is_every, _ITEM.finditer(words)))}
    if not places:
        return text, tokens, None
    first, last = _after_select(text, tokens)
    found = []
    for at, words in places.items():
        if not first < at < last:
            raise text.refused(at, f"the hint {HINT} does not stand right after SELECT.", EXAMPLE)
        found += [_read(text, at, words, item) for item in _ITEM.finditer(words) if _is_every(item)]
    if len(found) > 1:
        raise text.refused(found[1].at, f"the query has two hints {HINT}.", "Keep one of them.")
    cuts = tuple(_cut(text.sql, at, words) for at, words in places.items())
    gone = {at for at, _, instead in cuts if not instead.strip()}
    left = [token for token in tokens if not (token.token_type == TokenType.HINT and token.start in gone)]
    return replace(text, cuts=cuts), left, found[0]


def without_every(sql: str) -> str:
    """A query's text without the hint: two texts that differ in it alone are equal without it."""
    return _without(sql).splice((), len(sql))


def hide_every(sql: str) -> str:
    """A query's text with blanks for the hint: every other word stands where it stood."""
    for start, stop, _ in _without(sql).cuts:
        sql = sql[:start] + re.sub(r"[^\n]", " ", sql[start:stop]) + sql[stop:]
    return sql


def _without(sql: str) -> Text:
    text = Text("", sql)
    return lift_every(text, text.tokens())[0] if HINT.lower() in sql.lower() else text


def agree_on_bound(text: Text, hint: EveryHint | None, given: str | None, slide: int | None, slide_at: Token | None
                   ) -> int | None:
    """The one bound of a query, from its hint, from outside its text, or from `SLIDE <=`; raises where they differ."""
    every = None if given is None else read_every(text, given)
    if hint and every is not None and hint.every != every:
        raise text.refused(hint.at, f"the hint asks for answers every {duration(hint.every)}, and what comes with the "
                           f"query for every {duration(every)}.", "Keep one of them.")
    bound = hint.every if hint else every
    if bound is not None and slide is not None and bound > slide:
        raise text.refused(hint.at if hint else slide_at, f"SLIDE <= {duration(slide)} already asks for answers more "
                           f"often than every {duration(bound)}.", "Leave one of them out, or make the bound shorter.")
    return slide if bound is None else bound


def read_every(text: Text, given: object) -> int:
    """The microseconds of a bound that stands outside the SQL text."""
    if not isinstance(given, str):
        raise text.refused(None, f"the bound every={given!r} is no text.", "Write every='5 minutes'.")
    return _longer_than_zero(text, None, parse_duration(text, None, given, "bound"))


def parse_bound(given: object) -> int:
    """The microseconds of a bound that is of no query of its own; raises where it is none."""
    try:
        return read_every(Text("", ""), given)
    except QueryError as error:
        raise PlanError(f"every: {error.reason} {error.hint}") from None


def _read(text: Text, at: int, words: str, item: re.Match[str]) -> EveryHint:
    """The bound of one hint of a comment that begins at an offset."""
    place = at + item.start()
    found = _BOUND.fullmatch(item[0])
    if not found:
        raise text.refused(place, f"the hint {HINT} takes one duration in quotes.", EXAMPLE)
    place += found.start(1)
    return EveryHint(_longer_than_zero(text, place, parse_duration(text, place, found[1][1:-1], "bound")), place)


def _longer_than_zero(text: Text, at: int | None, micros: int) -> int:
    if not 0 < micros <= LONGEST:
        raise text.refused(at, "the bound of a query must be longer than zero.", EXAMPLE)
    return micros


def _hints(text: Text, tokens: Sequence[Token]) -> Iterator[tuple[int, str]]:
    """The comments of a text that are hints, `/*+ … */`, each with its offset; they stand between other tokens."""
    edges = [(token.start, token.end + 1) for token in tokens if token.token_type != TokenType.HINT]
    begin = 0
    for start, stop in [*edges, (len(text.sql), len(text.sql))]:
        for comment in _COMMENT.finditer(text.sql, begin, start):
            if comment[0].startswith("/*+"):
                yield comment.start(), comment[0]
        begin = stop


def _after_select(text: Text, tokens: Sequence[Token]) -> tuple[int, int]:
    """From the first SELECT to the next token that is no hint: where hints have their place."""
    select = next((i for i, token in enumerate(tokens) if token.token_type == TokenType.SELECT), None)
    if select is None:
        return 0, 0
    following = (token.start for token in tokens[select + 1 :] if token.token_type != TokenType.HINT)
    return tokens[select].end, next(following, len(text.sql))


def _is_every(item: re.Match[str]) -> bool:
    return item[0].split("(")[0].strip().upper() == HINT


def _cut(sql: str, at: int, words: str) -> Cut:
    """The comment without the hint; where nothing is left of it, without the space behind it either."""
    others = [item[0] for item in _ITEM.finditer(words) if not _is_every(item)]
    stop = at + len(words)
    if others:
        return at, stop, f"/*+ {', '.join(others)} */"
    stop += len(sql[stop:]) - len(sql[stop:].lstrip())
    return at, stop, "" if sql[:at][-1:].isspace() else " "
