"""What is observed of a stream's answers: counts that Spark puts into the progress of a trigger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.model.stages import AnswerStage
from weft.spark.stream.answer_counts import Counted, CountTable
from weft.spark.stream.state import ANSWERS, COUNT, COUNT_PART, DEAD_PART, LATE_PART, PART

# The names of what is observed of a trigger, and of the texts with the counts of answers.
OBSERVED, ANSWERED, COUNTS = "weft", "answers", "counts"
# Beyond so many windows answers are counted by part only: a trigger's progress has all counts of every bucket.
MOST_COUNTS = 200


class CountedPart(Protocol):
    """An answer stage and its id."""

    @property
    def id(self) -> str: ...

    @property
    def stage(self) -> AnswerStage: ...


def count_table(parts: Sequence[CountedPart]) -> CountTable:
    """What is counted: the answers of each window and predicate, or of parts where these are very many."""
    found: dict[Counted, list[str]] = {}
    for part in parts:
        windows = sorted({asked.window for asked in part.stage.queries})
        for asked in part.stage.queries:
            found.setdefault((part.id, windows.index(asked.window), asked.predicate), []).append(asked.name)
    if len(found) <= MOST_COUNTS:
        return CountTable(tuple(map(tuple, found.values())), {at: place for place, at in enumerate(found)})
    places = {id: place for place, id in enumerate(dict.fromkeys(id for id, *_ in found))}
    queries = [tuple(name for at, names in found.items() if at[0] == id for name in names) for id in places]
    return CountTable(tuple(queries), {at: places[at[0]] for at in found})


def observe_counts(answers: DataFrame) -> DataFrame:
    """The answers, with their numbers and those of dead letters and late rows in the progress of every trigger."""
    lost = [count_column(name, part) for name, part in (("dead", DEAD_PART), ("late", LATE_PART))]
    counts = F.expr(f"collect_list(IF({PART} = '{COUNT_PART}', CAST({ANSWERS} AS STRING), NULL))").alias(COUNTS)
    return answers.observe(OBSERVED, *lost).observe(ANSWERED, counts)


def count_column(name: str, part: str) -> Column:
    """What the rows that stand for a part count."""
    return F.expr(f"coalesce(sum(IF({PART} = '{part}', {COUNT}, 0)), 0)").alias(name)
