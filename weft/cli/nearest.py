"""What the user probably meant by a name that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

SHOWN = 8


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence with the nearest known name, or with all of them where none is near."""
    choices = sorted(known)
    near = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
    if near:
        return f"Did you mean '{near[0]}'?"
    more = f" and {len(choices) - SHOWN} more" if len(choices) > SHOWN else ""
    return f"There is {', '.join(choices[:SHOWN])}{more}." if choices else "There is none."
