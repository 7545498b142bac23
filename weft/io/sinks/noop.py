"""The sink that computes every answer and keeps none."""

from __future__ import annotations

from dataclasses import dataclass

from weft.io.answer_sink import Answers, AnswerSink, NamedSink, SinkFacts


@dataclass(frozen=True)
class NoopSink(AnswerSink):
    """Computes every answer and throws it away, for measurements."""

    facts = SinkFacts("noop", exactly_once=True, observable=True)

    def write(self, answers: Answers, trigger: int | None) -> None:
        """Compute them."""
        answers.compute()


noop = NamedSink(NoopSink.facts, lambda said: NoopSink())
