"""Literals in the arguments of aggregates: numbers, lists of them, and truth values, from canonical SQL."""

from __future__ import annotations

import re

NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
# 5, 5L, 0.5D and 0.5BD, and casts of numbers.
FORMS = (
    re.compile(rf"\(*({NUMBER})(?:L|S|Y|D|F|BD)?\)*", re.IGNORECASE),
    re.compile(rf"CAST\(({NUMBER}) AS (?:DOUBLE|BIGINT|INT|DECIMAL\(\d+, \d+\))\)", re.IGNORECASE),
    re.compile(rf"CAST\('({NUMBER})' AS DECIMAL\(\d+, \d+\)\)", re.IGNORECASE),
)
LIST = re.compile(r"array\((.*)\)", re.IGNORECASE)
COMMA = re.compile(r",\s*(?![^(]*\))")  # outside parentheses


def parse_number(sql: str) -> float | None:
    """The number that a literal is."""
    found = next((match for form in FORMS if (match := form.fullmatch(sql.strip()))), None)
    return float(found[1]) if found else None


def numbers(sql: str) -> tuple[tuple[float, ...], bool]:
    """The numbers of a literal or of an array of literals, none where one is no number; and whether it is an array."""
    listed = LIST.fullmatch(sql.strip())
    found = [parse_number(part) for part in COMMA.split(listed[1])] if listed else [parse_number(sql)]
    known = tuple(value for value in found if value is not None)
    return known if len(known) == len(found) else (), listed is not None


def truth(sql: str) -> bool | None:
    """The truth value that a literal is."""
    return {"true": True, "false": False}.get(sql.strip().lower())
