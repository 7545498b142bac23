"""Keeps a notice of the Java runtime that says nothing to the user off the terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

# Spark asks for this module itself, Java announces it at each start, and no Java option turns that off.
NOTICE = b"WARNING: Using incubator modules: jdk.incubator.vector"


@contextmanager
def without_notice() -> Iterator[None]:
    """Gives the processes that start in the body a stderr that drops the notice and passes all else on."""
    try:
        ours = os.dup(2)
    except OSError:  # there is no stderr to keep clean
        yield
        return
    read, write = os.pipe()
    os.dup2(write, 2)
    os.close(write)
    Thread(target=pass_on, args=(read, os.dup(ours)), daemon=True, name="weft-stderr").start()
    try:
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)


def pass_on(read: int, write: int) -> None:
    """Copies lines until the last writer is gone."""
    with os.fdopen(read, "rb", buffering=0) as lines, os.fdopen(write, "wb", buffering=0) as target:
        for line in iter(lines.readline, b""):
            if not line.startswith(NOTICE):
                target.write(line)
