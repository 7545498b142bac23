"""Weft's own hints, `/*+ EVERY('5 minutes'), SHED('2%') */`: read from the text and cut out of what Spark sees.

Every token keeps its place in the user's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot.tokens import Token, TokenType

from weft.sql.text import Cut, Text

# Each hint with an example of it.
HINTS = {"EVERY": "Write SELECT /*+ EVERY('5 minutes') */ ...", "SHED": "Write SELECT /*+ SHED('2%') */ ..."}
TAKES = {"EVERY": "one duration", "SHED": "one error bound"}
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_QUOTED = r"'[^']*'|\"[^\"]*\""
_ITEM = re.compile(rf"[A-Za-z_]\w*(?:\s*\((?:[^()'\"]|{_QUOTED})*\))?")
_BOUND = re.compile(rf"\w+\s*\(\s*({_QUOTED})\s*\)")


@dataclass(frozen=True)
class Hint:
    """What a hint says, and the offset in the text at which that stands."""

    words: str
    at: int


def lift_hints(text: Text, tokens: list[Token]) -> tuple[Text, list[Token], dict[str, Hint]]:
    """The text as Spark sees it and its tokens, without Weft's hints, and these by their names."""
    if not any(name.lower() in text.sql.lower() for name in HINTS):
        return text, tokens, {}
    places = {at: words for at, words in _hints(text, tokens) if any(map(_own_name, _ITEM.finditer(words)))}
    if not places:
        return text, tokens, {}
    found: dict[str, Hint] = {}
    for at, words in places.items():
        for item in filter(_own_name, _ITEM.finditer(words)):
            name, hint = _own_name(item), _read(text, tokens, at, item)
            if name in found:
                raise text.refused(hint.at, f"the query has two hints {name}.", "Keep one of them.")
            found[name] = hint
    cuts = tuple(_cut(text.sql, at, words) for at, words in places.items())
    gone = {at for at, _, instead in cuts if not instead.strip()}
    left = [token for token in tokens if not (token.token_type == TokenType.HINT and token.start in gone)]
    return replace(text, cuts=cuts), left, found


def without_hints(sql: str) -> str:
    """A query's text without Weft's hints: two texts that differ in these alone are equal without them."""
    return _without(sql).splice((), len(sql))


def hide_hints(sql: str) -> str:
    """A query's text with blanks for Weft's hints: every other word stands where it stood."""
    for start, stop, _ in _without(sql).cuts:
        sql = sql[:start] + re.sub(r"[^\n]", " ", sql[start:stop]) + sql[stop:]
    return sql


def _without(sql: str) -> Text:
    text = Text("", sql)
    return lift_hints(text, text.tokens())[0] if any(name.lower() in sql.lower() for name in HINTS) else text


def _read(text: Text, tokens: Sequence[Token], at: int, item: re.Match[str]) -> Hint:
    """One hint of a comment that begins at an offset."""
    name, place = _own_name(item), at + item.start()
    first, last = _after_select(text, tokens)
    if not first < at < last:
        raise text.refused(at, f"the hint {name} does not stand right after SELECT.", HINTS[name])
    found = _BOUND.fullmatch(item[0])
    if not found:
        raise text.refused(place, f"the hint {name} takes {TAKES[name]} in quotes.", HINTS[name])
    return Hint(found[1][1:-1], place + found.start(1))


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


def _own_name(item: re.Match[str]) -> str:
    """The name of a hint of Weft's; empty for any other."""
    name = item[0].split("(")[0].strip().upper()
    return name if name in HINTS else ""


def _cut(sql: str, at: int, words: str) -> Cut:
    """The comment without Weft's hints; where nothing is left of it, without the space behind it either."""
    others = [item[0] for item in _ITEM.finditer(words) if not _own_name(item)]
    stop = at + len(words)
    if others:
        return at, stop, f"/*+ {', '.join(others)} */"
    stop += len(sql[stop:]) - len(sql[stop:].lstrip())
    return at, stop, "" if sql[:at][-1:].isspace() else " "
