"""What is said of a stream that failed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from weft.io.java import Py4JJavaError, spark_reason, with_file

# What Spark says where a Python process was not up within ten seconds: the machine is busy, and nothing is wrong.
BUSY = re.compile(r"Python worker (?:failed to connect back|did not connect)")
# An error by its class and what it says, as Python and Java print them; its SQLSTATE is for machines.
RAISED = re.compile(r"^(?:Caused by: )?(?:\w+[.$])*\w*(?:Error|Exception): (.*?)(?: SQLSTATE: \w{5})?$", re.MULTILINE)

# What Java raises in a thread that waits for a job when its query is stopped.
INTERRUPTED = ("java.lang.InterruptedException", "java.io.InterruptedIOException",
               "java.nio.channels.ClosedByInterruptException")


class TriggerStopped(Exception):
    """A trigger that was cut short since its query shall stop."""


@contextmanager
def short_interruptions() -> Iterator[None]:
    """Tell Spark briefly that a trigger was interrupted: to find that out it reads what Python raised by a regular
    expression, which goes as deep as the text is long, and with Java's stack in it overflows that of its thread."""
    try:
        yield
    except Py4JJavaError as error:
        name = next((name for name in INTERRUPTED if name in str(error)), None)
        if name is None:
            raise
        raise TriggerStopped(f"py4j.protocol.Py4JJavaError: An error occurred while calling a job: {name}") from None


def advice(error: Exception) -> str:
    """What to do when a stream has stopped."""
    cause = "the cause is mended"
    if BUSY.search(str(error)):
        cause = "the machine is less busy: a Python process of Spark's was not up within ten seconds, several times"
    return f"What was answered is kept; start again from the same checkpoint when {cause}."


def error_sentence(error: Exception) -> str:
    """What went wrong in a stream, as a sentence: the innermost error of those that Spark tells before the plan."""
    causes = RAISED.findall(str(error).partition("=== Streaming Query ===")[0])
    text = with_file(str(error), (causes[-1] if causes else spark_reason(error)).strip())
    return text if text.endswith((".", "?", "!")) else f"{text}."
