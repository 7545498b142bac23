"""The answers of a run or a trigger as a sink gets them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import reduce

from pyspark.sql import DataFrame

from weft.io.answer_sink import Answers
from weft.spark.batch.run import QUERY, AnswerPart

Progress = Callable[[int, int, str], None]


def report_nothing(done: int, total: int, text: str) -> None:
    """Report nothing."""


class PartAnswers(Answers):
    """The answers of answer stages in groups of like columns; `seconds` says how long a sink took over the queries it
    read together."""

    query_column = QUERY

    def __init__(self, groups: Sequence[Sequence[AnswerPart]], progress: Progress = report_nothing):
        self.groups, self._progress = groups, progress
        self._home = {asked.name: (part, asked) for group in self.groups for part in group
                      for asked in part.stage.queries}
        self.seconds: dict[str, float] = {}

    def __getitem__(self, name: str) -> DataFrame:
        part, asked = self._home[name]
        return part.only(asked).result()

    def __iter__(self) -> Iterator[str]:
        return iter(self._home)

    def __len__(self) -> int:
        return len(self._home)

    def together(self) -> Iterator[tuple[tuple[str, ...], DataFrame]]:
        """A DataFrame for each group of like columns."""
        for group in self._timed():
            yield tuple(query_names(group)), union(group)

    def compute(self) -> None:
        """Let the JVM make every output value."""
        for group in self._timed():
            write_noop(group)

    def _timed(self) -> Iterator[Sequence[AnswerPart]]:
        """The groups; what passes until the next is asked for is what the sink does with one."""
        for i, group in enumerate(self.groups):
            names = query_names(group)
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            self._progress(i, len(self.groups), f"{names[0]}{more}")
            began = time.perf_counter()
            yield group
            self.seconds |= dict.fromkeys(names, time.perf_counter() - began)


def group_by_schema(parts: Sequence[AnswerPart]) -> list[list[AnswerPart]]:
    """The parts that can be written together: those whose outputs have equal names and types."""
    groups: dict[tuple, list[AnswerPart]] = {}
    for part in parts:
        groups.setdefault(tuple((o.name, o.type) for o in part.stage.outputs), []).append(part)
    return list(groups.values())


def query_names(parts: Sequence[AnswerPart]) -> list[str]:
    """The queries that parts answer."""
    return [asked.name for part in parts for asked in part.stage.queries]


def union(group: Sequence[AnswerPart]) -> DataFrame:
    """The rows of all queries of parts whose outputs are alike, by position: names may come twice."""
    return reduce(DataFrame.union, (part.named() for part in group))


def write_noop(group: Sequence[AnswerPart]) -> None:
    """Compute every output value in the JVM and throw it away."""
    for part in group:
        rows = part.rows() if part.one_each else part.named()
        rows.drop("w", "q").write.format("noop").mode("overwrite").save()
