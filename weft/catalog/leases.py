"""Leases: which process alone may do something with a store, for as long as it says again and again that it is there.

A lease is replaced by whoever found it as it still is, in one transaction, so that of two who want it one gets it.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import time

from weft.catalog.database import Catalog


@dataclass(frozen=True)
class Holder:
    """A process: `born` tells it from a later one of the same number, `machine` says who can look it up there."""

    id: str
    process: int
    born: str
    host: str
    machine: str


@dataclass(frozen=True)
class Lease:
    """Who holds it, how often it was renewed, and when last, in seconds since the epoch."""

    holder: Holder
    beats: int
    renewed: float


def find_lease(catalog: Catalog, name: str) -> Lease | None:
    """The lease, if somebody holds it."""
    sql = "SELECT holder, process, born, host, machine, beats, renewed FROM leases WHERE name = ?"
    found = catalog.rows(sql, (name,))
    return Lease(Holder(*found[0][:5]), *found[0][5:]) if found else None


def replace_lease(catalog: Catalog, name: str, holder: Holder, found: Lease | None) -> bool:
    """Take the lease if it is still as it was found; False where somebody was faster or its holder is back."""
    with catalog.changing():
        if find_lease(catalog, name) != found:
            return False
        catalog.change("INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?, 0, ?)",
                       (name, holder.id, holder.process, holder.born, holder.host, holder.machine, time()))
        return True


def renew_lease(catalog: Catalog, name: str, holder: Holder) -> bool:
    """Say that the holder is there; False where the lease is another's."""
    with catalog.changing():
        if not holds_lease(catalog, name, holder):
            return False
        catalog.change("UPDATE leases SET beats = beats + 1, renewed = ? WHERE name = ?", (time(), name))
        return True


def holds_lease(catalog: Catalog, name: str, holder: Holder) -> bool:
    """Whether the lease is the holder's."""
    return catalog.rows("SELECT holder FROM leases WHERE name = ?", (name,)) == [(holder.id,)]


def release_lease(catalog: Catalog, name: str, holder: Holder) -> None:
    """Give the lease back, if it is still the holder's."""
    catalog.change("DELETE FROM leases WHERE name = ? AND holder = ?", (name, holder.id))
