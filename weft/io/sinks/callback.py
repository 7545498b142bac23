"""A user's function as a sink, and the one that prints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.io.answer_sink import Answers, AnswerSink, NamedSink, SinkFacts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# What a user's function gets: the query's name, its new rows, and the number of the trigger.
Receiver = Callable[[str, "DataFrame", int], None]


@dataclass(frozen=True)
class CallbackSink(AnswerSink):
    """Hands each query's new rows to a function, in a trigger that has some or not. At least once: a crash in the
    middle of a trigger calls again with the same number."""

    receiver: Receiver
    # A function may read some of its rows or none.
    facts = SinkFacts("function", batch=False, columns=None)

    def write(self, answers: Answers, trigger: int | None) -> None:
        """Call it for each query."""
        assert trigger is not None
        for name, rows in answers.items():
            self.receiver(name, rows, trigger)


@dataclass(frozen=True)
class ConsoleSink(AnswerSink):
    """Prints the first new rows of each query that has some."""

    facts = SinkFacts("console", batch=False, over_connect=False)

    def write(self, answers: Answers, trigger: int | None) -> None:
        """Print them."""
        for name, rows in answers.items():
            found = rows.limit(20)
            if found.head(1):
                print(f"{name}, trigger {trigger}")
                found.show(truncate=False)


function = NamedSink(CallbackSink.facts)
console = NamedSink(ConsoleSink.facts, lambda said: ConsoleSink())
