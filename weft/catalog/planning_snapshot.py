"""Outlooks: what was known of the sources when queries were first run incrementally, by which they are planned again.

Sizes change with every file that comes. A plan that follows them may cut time or group otherwise than before, and then
nothing that is kept serves it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from hashlib import sha256
from time import time

from weft.catalog.database import Catalog
from weft.model.statistics import Statistics

Measured = Mapping[tuple, Statistics]  # by source, predicate, time and keys
Sampled = Mapping[tuple[str, str, frozenset[str]], Statistics]  # by source, time and keys


@dataclass(frozen=True)
class PlanningSnapshot:
    """Sizes of groupings that were measured, and such that samples gave."""

    measured: Measured
    sampled: Sampled

    def to_text(self) -> str:
        """The snapshot as JSON."""
        measured = [[*key[:3], list(key[3]), astuple(found)] for key, found in self.measured.items()]
        sampled = [[*key[:2], sorted(key[2]), astuple(found)] for key, found in self.sampled.items()]
        return json.dumps({"measured": measured, "sampled": sampled})


def parse_snapshot(text: str) -> PlanningSnapshot:
    """The snapshot that a JSON text holds."""
    read = json.loads(text)
    measured = {(source, where, at, tuple(keys)): Statistics(*found)
                for source, where, at, keys, found in read["measured"]}
    sampled = {(source, at, frozenset(keys)): Statistics(*found) for source, at, keys, found in read["sampled"]}
    return PlanningSnapshot(measured, sampled)


def snapshot_key(optimizer: str, queries: Iterable[tuple[str, str]]) -> str:
    """What tells workloads apart: the optimizer, and each query's source and text."""
    return sha256(json.dumps([optimizer, *queries]).encode()).hexdigest()


def find_snapshot(catalog: Catalog, mark: str) -> PlanningSnapshot | None:
    """The snapshot by which a workload is planned, if it has been run before."""
    found = catalog.rows("SELECT known FROM planning_snapshots WHERE mark = ?", (mark,))
    return parse_snapshot(found[0][0]) if found else None


def keep_snapshot(catalog: Catalog, mark: str, snapshot: PlanningSnapshot) -> None:
    """Plan a workload by this snapshot from now on."""
    catalog.change("INSERT OR REPLACE INTO planning_snapshots VALUES (?, ?, ?)", (mark, snapshot.to_text(), time()))
