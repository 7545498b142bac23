"""Folders on this machine: held against others for a moment, and swapped with one another at once."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from weft.errors import RunError

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

HERE = -100  # AT_FDCWD
EXCHANGE = 2  # RENAME_EXCHANGE of Linux, and RENAME_SWAP of macOS


class HeldError(RunError):
    """Somebody else holds the folder, or none can be held on its file system."""


@contextmanager
def hold_folder(folder: str, wait: bool = True) -> Iterator[None]:
    """Hold a folder until the end of the block, or of the process; raises where somebody else does and nobody waits."""
    place = open_held(folder, wait)
    try:
        yield
    finally:
        os.close(place)


@contextmanager
def hold_if_possible(folder: str) -> Iterator[None]:
    """Hold a folder where its file system has locks: where it has none nobody else holds it either."""
    try:
        place: int | None = open_held(folder, True)
    except HeldError:
        place = None
    try:
        yield
    finally:
        if place is not None:
            os.close(place)


def open_held(folder: str, wait: bool) -> int:
    """The folder opened and locked; closing it, as the end of a process does, lets it go."""
    if fcntl is None:
        raise HeldError(f"'{folder}' cannot be locked on this system.")
    try:
        place = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(place, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if os.fstat(place).st_ino != os.stat(folder).st_ino:
                raise BlockingIOError(errno.EAGAIN, "another folder came in its place")
        except OSError:
            os.close(place)
            raise
    except OSError as error:
        raise HeldError(f"'{folder}' cannot be locked: {error}.") from error
    return place


@cache
def system_calls() -> ctypes.CDLL:
    """The functions of the C library."""
    return ctypes.CDLL(None, use_errno=True)


def exchange_folders(one: str, other: str) -> None:
    """Swap two folders at once: at no moment is either place empty. Raises OSError where the system cannot."""
    system = system_calls()
    first, second = os.fsencode(one), os.fsencode(other)
    if sys.platform == "darwin":
        code = system.renamex_np(first, second, EXCHANGE)
    elif hasattr(system, "renameat2"):
        code = system.renameat2(HERE, first, HERE, second, EXCHANGE)
    else:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), one)
    if code != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), one)
