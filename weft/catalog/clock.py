"""When something happened, as the catalog writes it."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> str:
    """The time in UTC, such that texts sort as times do."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
