"""The other window spellings: the papers' `FROM s [RANGE 10 min SLIDE 2 min]`, `[RANGE 10 min SLIDE <= 2 min]` or
`[ROWS 9]`, Flink's HOP and TUMBLE.

Both are lifted out of the token list before it is parsed, so what is left is ordinary SQL over the source
and every token keeps its place in the user's text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot.tokens import Token, TokenType

from weft.model.window import Window
from weft.sql.rows import counted_window, row_count
from weft.sql.text import Spot, Text
from weft.sql.windows import MICROS, make_window, parse_duration

PAPERS, FLINK = "papers", "flink"
CLAUSES = (TokenType.SELECT, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING)
SHORT = {
    **{name: size for unit, size in MICROS.items() for name in (unit, unit + "s")},
    **dict.fromkeys(("us",), MICROS["microsecond"]),
    **dict.fromkeys(("ms", "msec"), MICROS["millisecond"]),
    **dict.fromkeys(("s", "sec", "secs"), MICROS["second"]),
    **dict.fromkeys(("min", "mins"), MICROS["minute"]),
    **dict.fromkeys(("h", "hr", "hrs"), MICROS["hour"]),
    **dict.fromkeys(("d",), MICROS["day"]),
    **dict.fromkeys(("w",), MICROS["week"]),
}
_BRACKET = re.compile(r"\[\s*(?:window|range|rows)\s+(.*?)(?:,?\s+slide(?:\s*(<=)\s*|\s+)(.*?))?\s*\]",
                      re.IGNORECASE | re.DOTALL)
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)
_INTERVAL = re.compile(r"interval\s+'?([+-]?[\d.]+)'?\s+([a-z]+)", re.IGNORECASE)
PAPERS_EXAMPLE = ("Write FROM s [RANGE 10 min SLIDE 2 min], SLIDE <= 2 min for an upper bound, or of rows "
                  "[ROWS 1000 SLIDE 100].")
FLINK_EXAMPLE = (
    "Write TABLE(HOP(TABLE s, DESCRIPTOR(ts), INTERVAL '2' MINUTE, INTERVAL '10' MINUTE)), slide before size,"
    " or TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '10' MINUTE))."
)


@dataclass(frozen=True)
class Spelled:
    """A window given in FROM: its style, the column of time (None: the source's declared one) and its token.

    `slide_bound` is the longest slide that is allowed, where the text gives a bound and not the slide itself.
    """

    style: str
    window: Window
    time: Token | None
    at: Token
    slide_bound: int | None = None


def lift(text: Text, tokens: list[Token]) -> tuple[list[Token], Spelled | None]:
    """The tokens without the window in FROM, and that window if there is one."""
    for i, token in enumerate(tokens):
        if token.token_type == TokenType.L_BRACKET and opens_papers(tokens, i):
            return _lift_papers(text, tokens, i)
        if token.token_type == TokenType.TABLE and _word(tokens, i + 1) == "(" and _word(tokens, i + 3) == "(":
            return _lift_flink(text, tokens, i)
    return tokens, None


def opens_papers(tokens: Sequence[Token], i: int) -> bool:
    """Whether a bracket in FROM starts a window: it holds WINDOW, RANGE or ROWS first."""
    clause = next((t.token_type for t in reversed(tokens[:i]) if t.token_type in CLAUSES), None)
    return clause == TokenType.FROM and _word(tokens, i + 1) in ("WINDOW", "RANGE", "ROWS")


def _lift_papers(text: Text, tokens: list[Token], i: int) -> tuple[list[Token], Spelled]:
    close = next((j for j in range(i, len(tokens)) if tokens[j].token_type == TokenType.R_BRACKET), None)
    if close is None:
        raise text.unreadable(tokens[i], "the window's bracket is not closed.", PAPERS_EXAMPLE)
    found = _BRACKET.fullmatch(text.sql[tokens[i].start : tokens[close].end + 1])
    if not found:
        raise text.unreadable(tokens[i], "the window in brackets cannot be read.", PAPERS_EXAMPLE)
    length, most, slide = found.groups()
    if most:
        window, bound = _bounded(text, tokens[i], tokens[i + 1], length, slide)
    else:
        window, bound = _bracketed(text, tokens[i], tokens[i + 1], [w for w in (length, slide) if w]), None
    rest = tokens[:i] + tokens[close + 1 :]
    if lift(text, rest)[1]:
        raise text.refused(tokens[i], "the query has more than one window.", "Keep one window in FROM.")
    return rest, Spelled(PAPERS, window, None, tokens[i], bound)


def _bounded(text: Text, bracket: Token, unit: Token, length: str, slide: str) -> tuple[Window, int]:
    """The window of `SLIDE <= 3 min`, and the bound (003 §1): it slides by the bound, or by all of a shorter range."""
    if unit.text.upper() == "ROWS":
        raise text.refused(bracket, "SLIDE <= bounds a time, and this window counts rows.",
                           "Write [ROWS 1000 SLIDE 100].")
    size, bound = (short_duration(text, unit, words) for words in (length, slide))
    return make_window(text, bracket, [size, min(size, bound)]), bound


def _bracketed(text: Text, bracket: Token, unit: Token, sizes: list[str]) -> Window:
    """The window of the range and slide in a bracket, of rows or of time."""
    if unit.text.upper() == "ROWS":
        return counted_window(text, bracket, [row_count(text, unit, words) for words in sizes])
    return make_window(text, bracket, [short_duration(text, unit, words) for words in sizes])


def short_duration(text: Text, at: Spot, words: str) -> int:
    """The microseconds of `10 min` or `1 h 30 min`: the papers' short units and Spark's long ones."""
    words = words.strip().strip("'\"")
    parts = _AMOUNT.findall(words)
    if not parts or _AMOUNT.sub("", words):
        raise text.unreadable(at, f"'{words}' is not a duration.", PAPERS_EXAMPLE)
    return sum(_amount(text, at, number, unit.lower()) for number, unit in parts)


def _amount(text: Text, at: Spot, number: str, unit: str) -> int:
    if unit.startswith(("month", "year", "mon")):
        raise text.refused(at, f"a {unit} has no fixed length, so it cannot be a window.", "Write it in days.")
    size = SHORT.get(unit)
    micros = Fraction(number) * (size or 0)
    if size is None or micros.denominator != 1:
        raise text.unreadable(at, f"'{number} {unit}' is not a duration.", PAPERS_EXAMPLE)
    return int(micros)


def _lift_flink(text: Text, tokens: list[Token], i: int) -> tuple[list[Token], Spelled]:
    name = _word(tokens, i + 2)
    if name not in ("HOP", "TUMBLE"):
        raise text.refused(tokens[i + 2], f"Weft does not run the table function {name.lower()}().", FLINK_EXAMPLE)
    close = _closing(tokens, i + 3)
    if _word(tokens, close + 1) != ")":
        raise text.unreadable(tokens[i], f"TABLE({name}(...)) is not closed.", FLINK_EXAMPLE)
    source, time, *sizes = _arguments(text, tokens, i + 2, close)
    durations = [_interval(text, part) for part in sizes]
    if name == "HOP":
        durations[:2] = reversed(durations[:2])  # Flink says the slide first
    else:
        durations[1:1] = durations[:1]
    return tokens[:i] + source[1:] + tokens[close + 2 :], Spelled(
        FLINK, make_window(text, sizes[0][0], durations), time[2], tokens[i]
    )


def _arguments(text: Text, tokens: list[Token], name: int, close: int) -> list[list[Token]]:
    """The arguments of HOP or TUMBLE as token lists: TABLE s, DESCRIPTOR(ts) and the intervals."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens[name + 2 : close]:
        depth += (token.text == "(") - (token.text == ")")
        if token.token_type == TokenType.COMMA and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    least = 4 if _word(tokens, name) == "HOP" else 3
    shapes = [[t.text.upper() for t in part] for part in parts[:2]]
    if not (least <= len(parts) <= least + 1 and shapes[0][:1] == ["TABLE"] and shapes[0][1:]
            and shapes[1][:2] == ["DESCRIPTOR", "("] and len(shapes[1]) == 4):  # fmt: skip
        raise text.unreadable(tokens[name], f"the arguments of {_word(tokens, name)} cannot be read.", FLINK_EXAMPLE)
    return parts


def _interval(text: Text, part: list[Token]) -> int:
    """The microseconds of INTERVAL '10' MINUTES."""
    words = text.sql[part[0].start : part[-1].end + 1] if part else ""
    found = _INTERVAL.fullmatch(words)
    if not found:
        raise text.unreadable(part[0] if part else None, f"'{words}' is not an interval Weft can read.", FLINK_EXAMPLE)
    return parse_duration(text, part[0], f"{found[1]} {found[2]}")


def _closing(tokens: Sequence[Token], opened: int) -> int:
    """The index of the parenthesis that closes the one at `opened`, or the end."""
    depth = 0
    for j in range(opened, len(tokens)):
        kind = tokens[j].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if not depth:
            return j
    return len(tokens)


def _word(tokens: Sequence[Token], i: int) -> str:
    return tokens[i].text.upper() if i < len(tokens) else ""
