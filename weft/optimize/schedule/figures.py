"""What a simulation or a runner's log says of each group: gaps between runs, missed bounds, the age of its answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from weft.optimize.schedule.dispatch import FinishedRun
from weft.optimize.schedule.timetable import Rhythm


@dataclass(frozen=True)
class GroupFigures:
    """A group's runs: how many, the mean and longest time from the start of one to that of the next, how many of these
    gaps are longer than its bound, and the mean and greatest age of its answers. Times in µs; None where there is
    none to tell."""

    runs: int
    mean_gap: Fraction | None
    longest_gap: int | None
    missed: int
    mean_age: Fraction | None
    oldest: int | None


def group_figures(runs: Iterable[FinishedRun], group: int, bound: int, until: int) -> GroupFigures:
    """The figures of one group over runs in order, seen at a moment after them."""
    good = [run for run in runs if group in run.members and group not in run.failed]
    gaps = [b.at - a.at for a, b in pairwise(good)]
    open_gap = until - good[-1].at if good else until
    mean = Fraction(sum(gaps), len(gaps)) if gaps else None
    missed = sum(gap > bound for gap in [*gaps, open_gap])
    return GroupFigures(len(good), mean, max(gaps, default=None), missed, *answer_ages(good, until))


def planned_figures(rhythm: Rhythm, until: int) -> GroupFigures:
    """The figures of a group whose runs take no time and all come as planned: answers grow old from run to run."""
    gaps = rhythm.gaps
    age = Fraction(sum(gap**2 for gap in gaps), 2 * rhythm.period)
    runs = round(Fraction(until * len(gaps), rhythm.period))
    return GroupFigures(runs, Fraction(rhythm.period, len(gaps)), max(gaps), 0, age, max(gaps))


def answer_ages(runs: Sequence[FinishedRun], until: int) -> tuple[Fraction | None, int | None]:
    """The mean and the greatest age of answers, from the first ones on.

    Answers are of the moment at which their run started, and are there when it has ended, until the next has.
    """
    known = [run for run in runs if run.finished < until]
    if not known:
        return None, None
    ends = [*(run.finished for run in known[1:]), until]
    spans = [(run.finished - run.at, end - run.at) for run, end in zip(known, ends, strict=True)]
    total = sum(oldest**2 - youngest**2 for youngest, oldest in spans)
    return Fraction(total, 2 * (until - known[0].finished)), max(oldest for _, oldest in spans)
