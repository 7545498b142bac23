"""How fresh answers must be, apart from what they are: `/*+ EVERY('5 minutes') */`, `every="5 minutes"`, `SLIDE <=`."""

from __future__ import annotations

from sqlglot.tokens import Token

from weft.errors import PlanError, QueryError
from weft.model.window import duration
from weft.sql.hints import HINTS, Hint
from weft.sql.text import Text
from weft.sql.windows import LONGEST, parse_duration

EXAMPLE = HINTS["EVERY"]


def agree_on_bound(text: Text, hint: Hint | None, given: str | None, slide: int | None, slide_at: Token | None
                   ) -> int | None:
    """The one bound of a query, from its hint, from outside its text, or from `SLIDE <=`; raises where they differ."""
    every = None if given is None else read_every(text, given)
    hinted = read_hint(text, hint) if hint else None
    if hint and every is not None and hinted is not None and hinted != every:
        raise text.refused(hint.at, f"the hint asks for answers every {duration(hinted)}, and what comes with the "
                           f"query for every {duration(every)}.", "Keep one of them.")
    bound = hinted if hint else every
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


def read_hint(text: Text, hint: Hint) -> int:
    """The microseconds of a bound that the hint EVERY names."""
    return _longer_than_zero(text, hint.at, parse_duration(text, hint.at, hint.words, "bound"))


def _longer_than_zero(text: Text, at: int | None, micros: int) -> int:
    if not 0 < micros <= LONGEST:
        raise text.refused(at, "the bound of a query must be longer than zero.", EXAMPLE)
    return micros
