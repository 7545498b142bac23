"""Groups as the command line spells them: [name=]bound:cost, or bound:read+answers where answers cost apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from weft.cli.nearest import did_you_mean
from weft.cli.windows import LENGTH, UNITS
from weft.errors import PlanError
from weft.optimize.schedule import RunGroup, ScheduleProblem

SPELLING = re.compile(r"(?:([^:=+,]*)=)?([^:=+,]*):([^:=+,]*)(?:\+([^:=+,]*))?")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
NUMBER = re.compile(r"\d{1,40}(?:\.\d{0,40})?|\.\d{1,40}")
EXAMPLE = "write bound:cost, such as 2m:9, or name=2m:9+1.5 for what is read and what answers cost"
MOST = 500


def read_groups(options: Sequence[str], overhead: Fraction = Fraction(0)) -> ScheduleProblem:
    """The groups that the options give, or an error that says which is wrong and why."""
    texts = [text.strip() for option in options for text in option.split(",") if text.strip()]
    if not texts:
        raise PlanError(f"there are no groups to schedule: {EXAMPLE}.")
    if len(texts) > MOST:
        raise PlanError(f"there are {len(texts):,} groups: give at most {MOST}, one for each bound.")
    return ScheduleProblem(tuple(read_group(text, number) for number, text in enumerate(texts, 1)), overhead)


def read_group(text: str, number: int) -> RunGroup:
    """One group; without a name it is called by its number."""
    parts = SPELLING.fullmatch(text)
    if not parts:
        raise PlanError(f"'{text}' is no group: {EXAMPLE}.")
    name, bound, read, answers = ("" if part is None else part.strip() for part in parts.groups())
    if parts[1] is not None and not NAME.fullmatch(name):
        raise PlanError(f"'{name}' in '{text}' is no name: use letters, digits, '_', '.' and '-'.")
    return RunGroup(name or f"G{number}", read_bound(bound, text), read_cost(read, text),
                    read_cost(answers, text) if parts[4] is not None else Fraction(0))


def read_bound(words: str, text: str) -> int:
    """The microseconds of a bound; it needs a unit, since costs are per minute."""
    found = LENGTH.fullmatch(words)
    if not found:
        raise PlanError(f"'{words}' in group '{text}' is no duration: write one such as 2m or 90s.")
    unit = found[2].lower().replace("µ", "u")
    if not unit:
        raise PlanError(f"the bound of group '{text}' has no unit: write {words}m for minutes, or us, ms, s, h, d.")
    if unit not in UNITS:
        raise PlanError(f"'{found[2]}' in group '{text}' is no unit of time. {did_you_mean(unit, UNITS)}")
    micros = Fraction(found[1]) * UNITS[unit]
    if micros <= 0:
        raise PlanError(f"the bound of group '{text}' must be longer than zero.")
    if micros.denominator != 1:
        raise PlanError(f"the bound of group '{text}': a microsecond is the finest time there is.")
    return int(micros)


def read_cost(words: str, text: str) -> Fraction:
    """A cost: a number that is not negative."""
    if not NUMBER.fullmatch(words):
        raise PlanError(f"'{words}' in group '{text}' is no cost: write a number such as 9 or 1.5.")
    return Fraction(words)
