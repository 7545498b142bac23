"""What a left-deep order of joins takes and gives, as coefficients that drop boxes scale (004 Eq. 3–10).

Streams stand in the order in which they are joined. By Eq. 5 and 6 the result of the first k of them has the window
W_k = Πf · ΠW_i and the rate W_k · Σ λ_i / W_i, so two numbers a stream and one a result say everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, permutations
from operator import mul

from weft.cost.joins.problem import JoinProblem
from weft.model.window import TIME

Order = tuple[int, ...]


@dataclass(frozen=True)
class PlanLoad:
    """A left-deep plan: by stream its rate, what its own rows take, and how often its window is renewed a second
    (λ / W); by result of the first k streams, from 1 on, its window, its rate, and what one of its rows takes.

    `utilisation` is seconds of work a second by the machine's capacity: above 1 it cannot keep up.
    """

    rates: Sequence[float]
    own: Sequence[float]
    turnover: Sequence[float]
    windows: Sequence[float]
    result_rates: Sequence[float]
    per_row: Sequence[float]
    utilisation: float

    @property
    def tuples(self) -> float:
        """Rows a second that enter a join: of all streams and of all results but the last."""
        return sum(self.rates) + sum(self.result_rates[1:-1])

    @property
    def results(self) -> tuple[float, ...]:
        """Seconds a second that the rows of each result take; the first result is a stream, which `own` has."""
        return tuple(each * rate for each, rate in zip(self.per_row, self.result_rates, strict=True))

    @property
    def output(self) -> float:
        """Rows a second of the whole join (004 Eq. 5)."""
        return self.result_rates[-1]


def load_of(problem: JoinProblem, order: Order, keep: Sequence[float] | None = None) -> PlanLoad:
    """The load of joining the streams of `order`, some or all of a problem's; `keep` is the share of each that its drop
    box keeps, by place in the order."""
    streams = [problem.streams[number] for number in order]
    rates = [s.rate for s in streams] if keep is None else [s.rate * x for s, x in zip(streams, keep, strict=True)]
    # A window of time holds rate · T rows, so it is renewed every T whatever its rate (004 §3).
    timed = problem.windows == TIME
    turnover = [1 / s.window if timed else rate / s.window for s, rate in zip(streams, rates, strict=True)]
    contents = [rate * s.window if timed else s.window for s, rate in zip(streams, rates, strict=True)]
    left, right, emit = problem.seconds
    own = [rates[0] * left, *[rate * right for rate in rates[1:]]]
    per_row = [0.0, *[left + emit] * (len(order) - 2), emit][: len(order)]
    windows = result_windows(problem, order, contents)
    results = [window * often for window, often in zip(windows, accumulate(turnover), strict=True)]
    return PlanLoad(rates, own, turnover, windows, results, per_row, sum(own) + sum(map(mul, per_row, results)))


def result_windows(problem: JoinProblem, order: Order, contents: Sequence[float]) -> list[float]:
    """The windows of the first 1, 2, … streams joined (004 Eq. 6)."""
    window, found = 1.0, []
    for place, number in enumerate(order):
        window *= contents[place]
        known = problem.selectivities[number]
        for before in order[:place]:
            window *= known[before]
        found.append(window)
    return found


def orders(problem: JoinProblem) -> Iterator[Order]:
    """Every left-deep order."""
    for order in permutations(range(len(problem.streams))):
        if all(may_follow(problem, order[:k], order[k]) for k in range(1, len(order))):
            yield order


def may_follow(problem: JoinProblem, before: Order, stream: int) -> bool:
    """Whether a stream may be joined after these: with a predicate, unless cross products are allowed too; and where a
    join's sides take the same, not as the second of two that the problem has in the other order."""
    if len(before) == 1 and problem.cost.symmetric and before[0] > stream:
        return False
    return problem.cross_products or not problem.neighbours[stream].isdisjoint(before)
