"""What the service's API may ask of `weft what-if windows`: the same, without files, and no more than a few windows."""

from __future__ import annotations

from typing import Any

import typer

from weft.cli.what_if import Question, answer, to_dict
from weft.server.replies import BAD, RefusedRequest

MOST_WINDOWS = 200
KNOWN = ("windows", "optimizer", "model", "slicer", "algorithm", "rate", "rows", "keys", "hours")


def answer_windows(body: dict[str, Any]) -> dict[str, Any]:
    """The plan of the windows that a request names; raises where it asks for something else."""
    for key in (key for key in body if key not in KNOWN):
        raise RefusedRequest(BAD, f"'{key[:64]}' is unknown: there are {', '.join(KNOWN)}.")
    try:
        return to_dict(answer(question_of(body)))
    except typer.BadParameter as error:
        raise RefusedRequest(BAD, f"{error.param_hint}: {error.message}") from None


def question_of(body: dict[str, Any]) -> Question:
    """The question of a request, whose values have the types that they must have."""
    given = body.get("windows")
    windows = [given] if isinstance(given, str) else given
    if not isinstance(windows, list) or not all(isinstance(one, str) for one in windows):
        raise RefusedRequest(BAD, "'windows' must be texts such as \"16/4,10/5\".")
    if any(one.startswith("@") for one in windows):
        raise RefusedRequest(BAD, "windows of files are for the command line alone.")
    if sum(one.count(",") + 1 for one in windows) > MOST_WINDOWS:
        raise RefusedRequest(BAD, f"{MOST_WINDOWS} windows are planned here at the most: ask the command line.")
    algorithm = text(body, "algorithm")
    return Question(windows, text(body, "optimizer"), text(body, "model"), [algorithm] if algorithm else (),
                    number(body, "rate"), number(body, "rows"), number(body, "keys"), number(body, "hours"),
                    text(body, "slicer"))


def text(body: dict[str, Any], key: str) -> str | None:
    """A text that may be missing."""
    found = body.get(key)
    if found is not None and not isinstance(found, str):
        raise RefusedRequest(BAD, f"'{key}' must be a text.")
    return found


def number(body: dict[str, Any], key: str) -> float | None:
    """A number that may be missing."""
    found = body.get(key)
    if found is not None and (isinstance(found, bool) or not isinstance(found, int | float)):
        raise RefusedRequest(BAD, f"'{key}' must be a number.")
    return found
