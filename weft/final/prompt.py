"""Workers that need not wait for few rows: what Spark sends them in small pieces is confirmed at once.

Spark's Java sends a piece, and the next one, if it is small, only when the first has been confirmed; Linux lets a
confirmation wait for 40 ms. So every task of a trigger with ten rows took 40 ms more than it had to.

Goes whole to Python processes that may have no Weft, and imports none.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

OPEN = "/proc/self/fd"


@dataclass(frozen=True)
class Prompt:
    """What a worker does with batches, which come at once."""

    work: Callable[[Iterable[Any]], Iterator[Any]]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Do it."""
        confirm_at_once()
        return self.work(batches)


def confirm_at_once() -> None:
    """Let this process confirm at once what its connections bring next; where there is no such option, nothing."""
    if not hasattr(socket, "TCP_QUICKACK") or not os.path.isdir(OPEN):
        return
    for name in os.listdir(OPEN):
        with suppress(OSError):  # closed meanwhile, or none of TCP
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                confirm_socket(int(name))


def confirm_socket(number: int) -> None:
    """The same for one connection, by the number of its open file."""
    with socket.socket(fileno=os.dup(number)) as held:
        held.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
