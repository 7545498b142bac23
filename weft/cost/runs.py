"""What one run over several groups of queries costs when they run together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from weft.cost.spark import fit_scales

FADING = 20

@dataclass(frozen=True)
class RunCosts:
    """The costs of runs over sets of groups: F + max a + Σ b, in any unit.

    `overhead` is F, what a run costs however little it does; `reads` are a, the slices that the longest window of each
    group reads, which serve the shorter ones too; `answers` are b, what each group's own answers cost. Golab et al.
    count the maximum alone (003): F = b = 0.
    """

    reads: tuple[Fraction, ...]
    answers: tuple[Fraction, ...]
    overhead: Fraction = Fraction(0)

    def together(self, members: Iterable[int]) -> Fraction:
        """What one run of these groups costs; no group, no run."""
        chosen = tuple(members)
        if not chosen:
            return Fraction(0)
        return self.overhead + max(self.reads[g] for g in chosen) + sum((self.answers[g] for g in chosen), Fraction(0))


def fit_runs(costs: RunCosts, runs: Sequence[tuple[Sequence[int], float]]) -> RunCosts:
    """The costs scaled to what runs took, the newest first: each is the groups of a run and its seconds.

    Overhead, reading and answers are scaled each as a whole, so that few runs tell much; what the runs leave open stays
    as it was. A run counts half as much as one that is `FADING` runs newer: data grows, and machines warm up.
    """
    if not runs:
        return costs
    parts = [(costs.overhead, max(costs.reads[g] for g in members), sum(costs.answers[g] for g in members))
             for members, _ in runs]
    shares = np.array([[float(part) for part in each] for each in parts]) / np.array([[s] for _, s in runs])
    overhead, reads, answers = (Fraction(float(value)).limit_denominator(10**6)
                                for value in fit_scales(shares, 0.5 ** (np.arange(len(runs)) / FADING)))
    return RunCosts(tuple(a * reads for a in costs.reads), tuple(b * answers for b in costs.answers),
                    costs.overhead * overhead)


def count_comparisons(ranges: Iterable[int], interval: int) -> int:
    """What a group of MAX windows costs over a synopsis of one maximum per interval (003 Fig. 1).

    The longest window is scanned once; the shorter ones are answered on the way.
    """
    return max(intervals_read(ranges, interval)) - 1


def intervals_read(ranges: Iterable[int], interval: int) -> Sequence[int]:
    """After how many intervals of the synopsis each window is answered (003 Fig. 1)."""
    return [-(-length // interval) for length in ranges]
