"""Which error a query accepts where rows are dropped: `/*+ SHED('2%') */`, `shed="2%"`."""

from __future__ import annotations

import re

from weft.errors import PlanError, QueryError
from weft.sql.hints import HINTS, Hint
from weft.sql.text import Spot, Text

EXAMPLE = HINTS["SHED"]
_PERCENT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*%\s*")


def agree_on_error(text: Text, hint: Hint | None, given: object) -> float | None:
    """The one error bound of a query as a share, from its hint or from outside its text; raises where they differ."""
    outside = None if given is None else read_error(text, None, given)
    inside = None if hint is None else read_error(text, hint.at, hint.words)
    if hint and outside is not None and outside != inside:
        raise text.refused(hint.at, f"the hint accepts an error of {hint.words}, and what comes with the query of "
                           f"{given}.", "Keep one of them.")
    return outside if inside is None else inside


def read_error(text: Text, at: Spot, given: object) -> float:
    """An error bound such as '2%' as a share; a number is a share."""
    if isinstance(given, float) and 0 < given < 1:
        return given
    found = _PERCENT.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        raise text.refused(at, f"the error bound {given!r} is no percentage in quotes.", f"Write shed='2%'. {EXAMPLE}")
    share = float(found[1]) / 100
    if not 0 < share < 1:
        raise text.refused(at, f"an error bound lies between 0% and 100%, and this one is {given}.",
                           "Write '2%', or leave it out: then no row is dropped.")
    return share


def parse_error_bound(given: object) -> float:
    """An error bound that is of no query of its own; raises where it is none."""
    try:
        return read_error(Text("", ""), None, given)
    except QueryError as error:
        raise PlanError(f"shed: {error.reason} {error.hint}") from None
