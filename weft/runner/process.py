"""Processes: who this one is, and whether another one is surely gone."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from uuid import uuid4

from weft.catalog.leases import Holder

BOOT, SPACE = Path("/proc/sys/kernel/random/boot_id"), "/proc/self/ns/pid"
ENDED = ("Z", "X")  # a process that has ended and that nobody has asked after


def this_process() -> Holder:
    """This process as the holder of a lease."""
    return Holder(uuid4().hex, os.getpid(), birth(os.getpid()) or "", platform.node(), this_machine())


def this_machine() -> str:
    """What processes have in common that see each other's numbers: a boot, and in containers a space of their own."""
    try:
        return f"{BOOT.read_text().strip()} {os.readlink(SPACE)}"
    except OSError:
        return platform.node()


def is_gone(holder: Holder) -> bool:
    """Whether a process surely runs no more; of one that cannot be looked up here nobody knows."""
    if not holder.machine or holder.machine != this_machine():
        return False
    if not is_there(holder.process):
        return True
    born = birth(holder.process)
    return born is not None and born != holder.born and bool(holder.born)


def is_there(process: int) -> bool:
    """Whether there is a process of this number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is there, and another user's
        return True
    return True


def birth(process: int) -> str | None:
    """When a process started, as Linux counts; "ended" of one that has, None where nobody says."""
    try:
        # The name of the program may hold anything, but ends with the last parenthesis.
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return "ended" if fields[0] in ENDED else fields[19]
