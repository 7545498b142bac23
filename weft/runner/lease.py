"""Leases: two runners never share a store, nor two services a project, and one that was killed keeps nobody waiting for
long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Thread

from weft.catalog.database import Catalog
from weft.catalog.leases import Holder, Lease, find_lease, holds_lease, release_lease, renew_lease, replace_lease
from weft.errors import CatalogError, RunError
from weft.runner.process import is_gone, this_process


@dataclass(frozen=True)
class LeaseKind:
    """What a lease is of: its name in the catalog, who holds it, and what another one should do."""

    name: str
    holder: str
    advice: str


SCHEDULE = LeaseKind("schedule", "runner", "Stop that one first, or give this one a store of its own.")
SERVICE = LeaseKind("service", "service", "Ask that one, or stop it first.")


@dataclass(frozen=True)
class LeaseTimes:
    """Seconds: how often a lease is renewed, and without that for how long it holds."""

    beat: float = 5.0
    expires: float = 30.0

    @property
    def watched(self) -> float:
        """How long a lease that looks expired is watched before it is taken.

        A clock that was set forward makes every lease look old. A holder that is there renews it meanwhile.
        """
        return 2.5 * self.beat


class HeldLease:
    """A lease that this process holds, renewed by a thread until it is given back."""

    def __init__(self, catalog: Catalog, holder: Holder, times: LeaseTimes, kind: LeaseKind = SCHEDULE):
        self._catalog, self.holder, self._times, self._kind = catalog, holder, times, kind
        self._over = Event()
        self._lost = False
        self._thread = Thread(target=self._beat, name="weft-lease", daemon=True)
        self._thread.start()

    def require(self) -> None:
        """Raise where the lease is another's now, as after this process was suspended."""
        with suppress(CatalogError):  # then the next beat tells
            self._lost = self._lost or not holds_lease(self._catalog, self._kind.name, self.holder)
        if self._lost:
            found = find_lease(self._catalog, self._kind.name)
            now = "nobody" if found is None else f"process {found.holder.process} on host '{found.holder.host}'"
            raise RunError(f"this {self._kind.holder} was away for too long and its lease of the store "
                           f"'{self._catalog.path.parent}' went to {now}: it ends, and what it has written stays.")

    def close(self) -> None:
        """Give the lease back."""
        self._over.set()
        self._thread.join()
        with suppress(CatalogError):  # then it expires
            release_lease(self._catalog, self._kind.name, self.holder)

    def _beat(self) -> None:
        while not self._over.wait(self._times.beat):
            with suppress(CatalogError):  # a full disk, say: the next beat may do
                if not renew_lease(self._catalog, self._kind.name, self.holder):
                    self._lost = True
                    return


@contextmanager
def holding_lease(catalog: Catalog, times: LeaseTimes = LeaseTimes(),
                  kind: LeaseKind = SCHEDULE) -> Iterator[HeldLease]:
    """The lease of a store while the body runs; raises where another one has it."""
    lease = HeldLease(catalog, take_lease(catalog, times, kind), times, kind)
    try:
        yield lease
    finally:
        lease.close()


def take_lease(catalog: Catalog, times: LeaseTimes, kind: LeaseKind = SCHEDULE) -> Holder:
    """This process as the holder; raises where another one is there, or may be."""
    holder = this_process()
    while True:
        found = find_lease(catalog, kind.name)
        if found is not None and not is_free(catalog, found, times, kind):
            raise held_by_another(catalog, find_lease(catalog, kind.name) or found, kind)
        if replace_lease(catalog, kind.name, holder, found):
            return holder


def refuse_held(catalog: Catalog, times: LeaseTimes = LeaseTimes()) -> None:
    """Raise where another runner surely has the store: that is told before anything takes time."""
    found = find_lease(catalog, SCHEDULE.name)
    if found is not None and not is_gone(found.holder) and 0 <= time.time() - found.renewed <= times.expires:
        raise held_by_another(catalog, found, SCHEDULE)


def is_free(catalog: Catalog, found: Lease, times: LeaseTimes, kind: LeaseKind = SCHEDULE) -> bool:
    """Whether nobody stands behind a lease: its process is surely gone, or it is old and nobody renews it."""
    if is_gone(found.holder):
        return True
    if 0 <= time.time() - found.renewed <= times.expires:
        return False
    until = time.monotonic() + times.watched
    while time.monotonic() < until:
        time.sleep(min(0.2, times.beat / 4))
        if find_lease(catalog, kind.name) != found:
            return False
    return True


def held_by_another(catalog: Catalog, found: Lease, kind: LeaseKind) -> RunError:
    """The error that says who has the store."""
    who = f"process {found.holder.process} on host '{found.holder.host}'"
    age = max(time.time() - found.renewed, 0.0)
    return RunError(f"the store '{catalog.path.parent}' is another {kind.holder}'s: {who} renewed its lease "
                    f"{age:.0f} s ago. {kind.advice}")
