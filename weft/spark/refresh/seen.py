"""What the queries of a sink have seen beyond their marks: rows that stay while slices come that do not touch them.

A mark says of which version of its slices a query's rows are. Where new slices change nothing, writing all these marks
again would be most of a small run: one page for the whole sink says it. A line counts only for the very folder that it
was written for, so a page that is lost or old costs work and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from pyarrow import fs

from weft.io.files import read_json, write_json
from weft.spark.refresh.kept_answers import KeptAnswers
from weft.spark.refresh.updates import Update

SEEN = "_weft_seen"


class Seen(NamedTuple):
    """The run that wrote a query's folder, and the version of its slices by which its rows are still right."""

    run: str
    epoch: str
    version: int

    def applies(self, kept: KeptAnswers) -> bool:
        """Whether it says more of rows than their mark."""
        return (self.run, self.epoch) == (kept.run, kept.epoch) and self.version > kept.version


def read_seen(files: fs.FileSystem, root: str) -> dict[str, Seen]:
    """What the page of a sink says; nothing where there is none that can be read."""
    try:
        return {name: Seen(str(run), str(epoch), int(version))
                for name, (run, epoch, version) in (read_json(files, f"{root}/{SEEN}") or {}).items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def as_seen(kept: KeptAnswers | None, seen: Seen | None) -> KeptAnswers | None:
    """What a folder holds, by its mark and by the sink's page."""
    return replace(kept, version=seen.version) if kept and seen and seen.applies(kept) else kept


def write_seen(files: fs.FileSystem, root: str, before: Mapping[str, Seen], unchanged: Iterable[Update],
               changed: Iterable[str]) -> None:
    """Say of queries whose rows stay that these are right for the slices as they are now; others have new marks."""
    page = {name: seen for name, seen in before.items() if name not in set(changed)}
    for update in unchanged:
        cache, kept = update.slices.cache, update.before
        if kept is not None and kept.epoch == cache.epoch and kept.version < cache.version:
            page[update.name] = Seen(kept.run, cache.epoch, cache.version)
    if page != before:
        write_json(files, f"{root}/{SEEN}", {name: list(seen) for name, seen in page.items()})
