"""Running a case and judging each of its queries against Spark's own."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import SparkSession

from tests.fuzz.case import Case, Query
from tests.fuzz.draw import USUAL
from tests.fuzz.rows import differing
from tests.fuzz.runs import World
from tests.fuzz.text import aliased
from weft.errors import RunError, WeftError
from weft.spark.session.session import temporary_settings

EQUAL, REFUSED, INVALID, RAISED = "equal", "refused by Weft", "refused by both", "raised by both"
DIFFERENT, CRASH, UNREFUSED = "DIFFERENT", "CRASH", "ANSWERED THOUGH SPARK DOES NOT"
FAILURES = (DIFFERENT, CRASH, UNREFUSED)
# Neither Weft's fault nor Spark's: the machine was too busy, or out of ports, for Spark to reach a Python process.
TROUBLE = "not run: Spark could not reach a worker"
BUSY = re.compile("CANNOT_OPEN_SOCKET|Python worker (failed to connect back|did not connect)")


@dataclass(frozen=True)
class Verdict:
    """What came of some queries of a case, in Weft's or Spark's words."""

    queries: tuple[int, ...]
    outcome: str
    detail: str = ""

    @property
    def failed(self) -> bool:
        """Whether Weft is not what it promises to be."""
        return self.outcome in FAILURES


def check(spark: SparkSession, case: Case) -> list[Verdict]:
    """The verdicts on all queries of a case, run under its settings."""
    return checked(spark, case, judge)


def check_together(spark: SparkSession, case: Case) -> list[Verdict]:
    """As `check`, but queries that fail together are not told apart, which takes less time."""
    return checked(spark, case, together)


def checked(spark: SparkSession, case: Case, judging: Callable[[World, Sequence[int]], list[Verdict]]) -> list[Verdict]:
    """The verdicts of a way to judge the queries that both engines take."""
    try:
        return judge_case(spark, case, judging)
    except Exception as error:
        if not is_trouble(error):
            raise
        return [Verdict(tuple(range(len(case.queries))), TROUBLE, said(error))]


def judge_case(spark: SparkSession, case: Case,
               judging: Callable[[World, Sequence[int]], list[Verdict]]) -> list[Verdict]:
    """As `checked`; raises where the surroundings of a case cannot be made or removed."""
    with temporary_settings(spark, {**USUAL, **case.settings}), world_of(spark, case) as world:
        if isinstance(world, Exception):
            return [refused(tuple(range(len(case.queries))), world)]
        found = [verdict for i in range(len(case.queries)) if (verdict := admit(world, i))]
        left = [i for i in range(len(case.queries)) if not any(i in verdict.queries for verdict in found)]
        return found + (judging(world, left) if left else [])


@contextmanager
def world_of(spark: SparkSession, case: Case) -> Iterator[World | Exception]:
    """The case in its session, or the error of its source."""
    with TemporaryDirectory(prefix="weft-fuzz-") as home:
        try:
            world = World(spark, case, Path(home))
        except Exception as error:
            yield error
            return
        try:
            yield world
        finally:
            world.close()


def refused(queries: tuple[int, ...], error: Exception) -> Verdict:
    """What an error before the run says of queries that Spark takes."""
    if is_trouble(error):
        return Verdict(queries, TROUBLE, said(error))
    return Verdict(queries, REFUSED if isinstance(error, WeftError) else CRASH, said(error))


def admit(world: World, number: int) -> Verdict | None:
    """The verdict on a query that Spark or Weft does not take; None where both do."""
    ours = attempt(lambda: world.accept(number))
    counts = world.case.queries[number].window.spelling == "rows"
    if counts and isinstance(ours, Exception):
        return refused((number,), ours)
    theirs = attempt(lambda: world.native(number).schema)
    if is_trouble(theirs):
        return Verdict((number,), TROUBLE, said(theirs))
    if isinstance(theirs, Exception):
        return None if not isinstance(ours, Exception) else Verdict((number,), INVALID, said(theirs))
    return refused((number,), ours) if isinstance(ours, Exception) else None


def judge(world: World, numbers: Sequence[int]) -> list[Verdict]:
    """Run queries together; where that fails, find those that fail."""
    whole = together(world, numbers)
    if len(numbers) == 1 or len(whole) > 1 or whole[0].outcome == TROUBLE:
        return whole
    middle = len(numbers) // 2
    found = judge(world, numbers[:middle]) + judge(world, numbers[middle:])
    if whole[0].outcome == CRASH and not any(verdict.failed for verdict in found):
        found.append(Verdict(tuple(numbers), CRASH, f"only together: {whole[0].detail}"))
    return found


def together(world: World, numbers: Sequence[int]) -> list[Verdict]:
    """Run queries together: a verdict on each, or a single one where they could not be run."""
    theirs, ours = attempt(lambda: world.theirs(numbers)), attempt(lambda: world.ours(numbers))
    if not isinstance(theirs, Exception) and not isinstance(ours, Exception):
        return [compare(world.case, i, ours[f"q{i}"], theirs[f"q{i}"]) for i in numbers]
    return [unrun(tuple(numbers), ours, theirs)]


def unrun(numbers: tuple[int, ...], ours: Any, theirs: Any) -> Verdict:
    """The verdict on queries that Weft, Spark or both could not run."""
    trouble = next((error for error in (ours, theirs) if is_trouble(error)), None)
    if trouble is not None:
        return Verdict(numbers, TROUBLE, said(trouble))
    if isinstance(theirs, Exception) and isinstance(ours, Exception):
        return Verdict(numbers, RAISED, said(theirs))
    if isinstance(theirs, Exception):
        return Verdict(numbers, UNREFUSED, f"Spark: {said(theirs)}")
    early = isinstance(ours, WeftError) and not isinstance(ours, RunError)
    return Verdict(numbers, REFUSED if early else CRASH, said(ours))


def compare(case: Case, number: int, ours: Any, theirs: Any) -> Verdict:
    """The verdict on two results."""
    loose, bags = tolerances(case.queries[number])
    found = differing(ours, theirs, loose, bags)
    return Verdict((number,), DIFFERENT, found) if found else Verdict((number,), EQUAL, f"{len(ours.rows)}")


def tolerances(query: Query) -> tuple[list[bool], list[bool]]:
    """For each output whether it is rounded, and whether its lists have no order."""
    before = [False] * (sum(key.shown for key in query.keys) + aliased(query))
    return [*before, *(item.loose for item in query.items)], [*before, *(item.bag for item in query.items)]


def attempt(work: Callable[[], Any]) -> Any:
    """What a piece of work gives, or the error it raises."""
    try:
        return work()
    except Exception as error:
        return error


def is_trouble(found: Any) -> bool:
    """Whether something that was found is an error of the machine, or one that such an error has led to."""
    while isinstance(found, Exception):
        if BUSY.search(str(found)):
            return True
        found = found.__cause__
    return False


def said(error: Exception) -> str:
    """An error in one line: its class and first sentence, or what Java or a worker says where Spark only wraps it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    inner = [line for line in lines[1:] if line.startswith(("Caused by: ", "pyspark.errors"))]
    told = f"{type(error).__name__}: {lines[0][:300]}"
    return f"{told} … {inner[-1][:300]}" if inner and not isinstance(error, WeftError) else told


def quiet() -> None:
    """Keep Python's side of Spark from logging each error that is raised on purpose."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
