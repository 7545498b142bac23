"""Signals: the first one asks for an end, the second one is the end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread

HEARD = (signal.SIGINT, signal.SIGTERM)
SHOW_CURSOR = b"\x1b[?25h"


class Signals:
    """Whether an end was asked for; `obey` is called when it first is."""

    def __init__(self) -> None:
        self.asked = False
        self.obey: Callable[[], None] = lambda: None

    def ask(self, number: int = 0, frame: object = None) -> None:
        """Note that somebody wants an end; who asks twice gets it at once."""
        if self.asked and number:
            leave(number)
        if not self.asked:
            self.asked = True
            self.obey()


def leave(number: int) -> None:
    """Ends this process without a further word, and with it Spark's, which ends with the pipe between them."""
    if sys.__stdout__ is not None and sys.__stdout__.isatty():
        os.write(sys.__stdout__.fileno(), SHOW_CURSOR)  # the live view has hidden it
    os._exit(128 + number)


@contextmanager
def heard() -> Iterator[Signals]:
    """Takes SIGINT and SIGTERM as questions within; one that is ignored (nohup, a job in the background) stays so."""
    signals = Signals()
    if current_thread() is not main_thread():  # only the main thread may set handlers
        yield signals
        return
    taken = [number for number in HEARD if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, signals.ask) for number in taken}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
