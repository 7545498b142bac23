"""What must hold while Spark's Java process starts: no noise on the terminal, and no half-made process left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread

# Spark asks for this module itself, Java announces it at each start, and no Java option turns that off.
NOTICE = b"WARNING: Using incubator modules: jdk.incubator.vector"
# PySpark's stateful workers print each step of their start, with an empty line after it.
STEPS = (b"Starting Streaming TransformWithState", b"Streaming TransformWithState")


@contextmanager
def suppress_jvm_notices() -> Iterator[None]:
    """Gives the processes that start in the body a stderr that drops such notices and passes all else on."""
    try:
        ours = os.dup(2)
    except OSError:  # there is no stderr to keep clean
        yield
        return
    read, write = os.pipe()
    os.dup2(write, 2)
    os.close(write)
    Thread(target=forward_lines, args=(read, os.dup(ours)), daemon=True, name="weft-stderr").start()
    try:
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)


def forward_lines(read: int, write: int) -> None:
    """Copies lines until the last writer is gone."""
    with os.fdopen(read, "rb", buffering=0) as lines, os.fdopen(write, "wb", buffering=0) as target:
        for line in drop_noise(iter(lines.readline, b"")):
            target.write(line)


def drop_noise(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines that tell something."""
    after = False
    for line in lines:
        step = line.startswith(STEPS)
        if not (step or line.startswith(NOTICE) or (after and not line.strip())):
            yield line
        after = step


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Holds a Ctrl-C back until the body is done: one in the middle of a start leaves a Java process for ever."""
    if current_thread() is not main_thread():  # only the main thread may set handlers, and only it is interrupted
        yield
        return
    with (stays_ignored if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else held_back)():
        yield


@contextmanager
def stays_ignored() -> Iterator[None]:
    """Ignores Ctrl-C after the body as before it, as nohup wants, though Spark sets a handler of its own."""
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def held_back() -> Iterator[None]:
    """Raises after the body what interrupted it."""
    waiting: list[int] = []

    def hold(number: int, frame: object) -> None:
        waiting.append(number)

    before = signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        # Spark sets a handler of its own that cancels its jobs; that one stays.
        if signal.getsignal(signal.SIGINT) is hold:
            signal.signal(signal.SIGINT, before)
    if waiting:
        raise KeyboardInterrupt
