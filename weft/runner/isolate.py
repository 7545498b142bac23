"""Who is at fault where a run of several queries fails: found by running halves, so that others get their answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Attempt = Callable[[Sequence[str]], str | None]  # runs queries; why that failed, None where it did not


def find_failing(attempt: Attempt, names: Sequence[str], thorough: bool) -> dict[str, str]:
    """The queries of a run that fail, each with why; all others have run.

    Where both halves fail for the same reason it is most likely the machine's or the source's, and all count as
    failed. A `thorough` search goes on even so: that is for queries that have failed before. Its tries are limited too,
    by what a few bad queries take to be found; who is not found then counts as failed until the next time.
    """
    reason = attempt(names)
    if reason is None:
        return {}
    if len(names) == 1:
        return {names[0]: reason}
    return search_halves(LimitedAttempt(attempt, 4 * len(names).bit_length() + 4), names, reason, thorough)


@dataclass
class LimitedAttempt:
    """An attempt that can be made so often; after that everything has failed for the last reason."""

    attempt: Attempt
    left: int
    reason: str = ""

    def __call__(self, names: Sequence[str]) -> str | None:
        """Why queries fail, None where they have run."""
        if self.left <= 0:
            return self.reason
        self.left -= 1
        found = self.attempt(names)
        self.reason = found or self.reason
        return found


def search_halves(attempt: Attempt, names: Sequence[str], reason: str, thorough: bool) -> dict[str, str]:
    """The failing ones of queries of which the whole failed."""
    middle = len(names) // 2
    parts = names[:middle], names[middle:]
    found = [attempt(part) for part in parts]
    if found[0] == found[1] == reason and not thorough:
        return dict.fromkeys(names, reason)
    failed: dict[str, str] = {}
    for part, why in zip(parts, found, strict=True):
        if why is not None:
            failed |= {part[0]: why} if len(part) == 1 else search_halves(attempt, part, why, thorough)
    return failed
