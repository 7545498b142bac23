"""What is counted of a stream's answers: each count is a column that Spark observes, in the progress of a trigger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.model.stages import AnswerStage
from weft.spark.stream.state import COUNT, DEAD_PART, LATE_PART, PART, PREDICATE, WINDOW
from weft.spark.stream.worker_plans import SPARE, Counted

# The names of what is observed of a trigger.
OBSERVED, ANSWERED = "weft", "answers"
# Beyond so many windows answers are counted by part only.
MOST_COUNTS = 200


class CountedPart(Protocol):
    """An answer stage and its id."""

    @property
    def id(self) -> str: ...

    @property
    def stage(self) -> AnswerStage: ...


@dataclass(frozen=True)
class CountLabel:
    """A count of answers: its name, the queries that it is of, and the windows and predicates of a part; `whole` where
    these are all of the part."""

    name: str
    queries: tuple[str, ...]
    part: str
    at: tuple[tuple[int, int], ...]
    whole: bool = False

    @property
    def counted(self) -> tuple[Counted, ...]:
        """What workers count as this."""
        return tuple((self.part, *at) for at in self.at)

    @property
    def test(self) -> str:
        """The condition of rows that hold such counts."""
        mine = f"{PART} = '{self.part}'"
        return mine if self.whole else f"{mine} AND {WINDOW} = {self.at[0][0]} AND {PREDICATE} = {self.at[0][1]}"


def count_labels(parts: Sequence[CountedPart], by_part: bool | None = None) -> tuple[CountLabel, ...]:
    """What is counted: the answers of each window and predicate, or of parts where these are very many."""
    found: dict[str, dict[tuple[int, int], list[str]]] = {}
    for part in parts:
        windows, mine = sorted({asked.window for asked in part.stage.queries}), found.setdefault(part.id, {})
        for asked in part.stage.queries:
            mine.setdefault((windows.index(asked.window), asked.predicate), []).append(asked.name)
    if by_part if by_part is not None else counts_by_part(parts):
        return tuple(CountLabel(f"a{id}", tuple(name for names in mine.values() for name in names), id, tuple(mine),
                                True) for id, mine in [*found.items()][:MOST_COUNTS])
    return tuple(CountLabel(f"a{id}_{at[0]}_{at[1]}", tuple(names), id, (at,))
                 for id, mine in found.items() for at, names in mine.items())


def counts_by_part(parts: Sequence[CountedPart]) -> bool:
    """Whether answers are counted by part, since there are very many windows."""
    found = {(part.id, asked.window, asked.predicate) for part in parts for asked in part.stage.queries}
    return len(found) > MOST_COUNTS


def label_queries(labels: Iterable[CountLabel]) -> dict[str, tuple[str, ...]]:
    """The queries of each count by its name."""
    return {label.name: label.queries for label in labels}


def observe_counts(answers: DataFrame, parts: Sequence[CountedPart]) -> DataFrame:
    """The answers, with their numbers and those of dead letters and late rows in the progress of every trigger; some
    counters are spare, for queries that come while it runs."""
    counts = [count_column(label.name, label.test) for label in count_labels(parts)]
    spare = [count_column(spare_name(i), f"{PART} = '{spare_name(i)}'") for i in range(SPARE)]
    lost = [count_column(name, f"{PART} = '{part}'") for name, part in (("dead", DEAD_PART), ("late", LATE_PART))]
    return answers.observe(OBSERVED, *lost).observe(ANSWERED, *counts, *spare)


def spare_name(number: int) -> str:
    """The name of a spare counter in the progress of a trigger, and of the part that it counts."""
    return f"spare{number}"


def count_column(name: str, test: str) -> Column:
    """What the rows that meet a test count."""
    return F.expr(f"coalesce(sum(IF({test}, {COUNT}, 0)), 0)").alias(name)
