"""How a join is made in a batch: in which order, by 004's search, and in bins of time where keys have many rows.

Spark joins two sides by their keys and asks every pair of rows with equal keys whether their times are near enough. Of
a key with many rows nearly all such pairs are far apart. In bins of time it only sees those that can be near.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isinf

from weft.cost.joins.join_cost import symmetric_cost
from weft.cost.joins.problem import InputStream, JoinPredicate, JoinProblem
from weft.model.join import SECOND, Join, JoinMethod, JoinStep, plain_method, reached_from
from weft.model.window import TIME
from weft.optimize.join_order import choose_order, exhaustive

# Nanoseconds that a row takes on its way into a join, and a pair of rows with equal keys within it (bench/joins.py).
ROW, PAIR = 1500.0, 200.0
# Bins must save so much of what a join takes, for samples say little of keys with few rows.
WORTH = 1.5
SHORTEST = 1e-6  # seconds, of a window that is a single moment


@dataclass(frozen=True)
class KeyShares:
    """Which share of an input's rows each of its commonest keys has, and how many other keys it has."""

    common: Mapping[int, float]
    others: float = 0.0

    @property
    def rest(self) -> float:
        """The share of rows that have none of the commonest keys."""
        return max(1.0 - sum(self.common.values()), 0.0) if self.others else 0.0


NO_KEYS = KeyShares({})


@dataclass(frozen=True)
class InputSample:
    """What is known of an input: its rows, over how many microseconds, and its keys by the number of the input that
    they link it with."""

    rows: float
    span: float
    keys: Mapping[int, KeyShares]


def choose_join_method(join: Join, samples: Sequence[InputSample]) -> JoinMethod:
    """The method that should take least for inputs like these."""
    method = order_streams(join, samples)
    met, rows, steps = [method.first], samples[method.first].rows, []
    for step in method.steps:
        steps.append(choose_bins(join, samples, met, rows, step))
        rows = rows_after(join, samples, met, rows, step.input)
        met.append(step.input)
    return replace(method, steps=tuple(steps))


def order_streams(join: Join, samples: Sequence[InputSample]) -> JoinMethod:
    """The inputs in the order of 004's search, where there are three streams or more that keys link; tables as soon as
    a key links them."""
    plain = plain_method(join)
    pairs = {frozenset((key.left, key.right)) for key in join.keys if {key.left, key.right} <= {*join.streams}}
    if len(join.streams) < 3 or not reached_from(join.streams[0], pairs) >= {*join.streams}:
        return plain
    streams = tuple(stream_of(join, samples, number) for number in join.streams)
    predicates = tuple(JoinPredicate(str(one), str(other), matching(samples, one, other))
                       for one, other in sorted(tuple(sorted(pair)) for pair in pairs))
    problem = JoinProblem(streams, predicates, symmetric_cost(1e-9), TIME, cross_products=False)
    order = [join.streams[place] for place in choose_order(exhaustive, problem).order]
    order += [number for number in plain.order if number not in order]
    return JoinMethod(order[0], tuple(JoinStep(number) for number in order[1:]), "by sampled rates and selectivities")


def stream_of(join: Join, samples: Sequence[InputSample], number: int) -> InputStream:
    """An input as 004 sees it: rows a second, and the seconds that a row of it can wait for a partner."""
    sample = samples[number]
    reach = max(join.reach[other][number] for other in join.streams if other != number)
    return InputStream(str(number), max(sample.rows, 1.0) / seconds(sample.span), max(reach / SECOND, SHORTEST))


def seconds(micros: float) -> float:
    """Microseconds as seconds, at the least one."""
    return max(micros / SECOND, 1.0)


def matching(samples: Sequence[InputSample], one: int, other: int) -> float:
    """The share of all pairs of rows of two inputs whose keys are equal: the sum of the products of their shares, where
    keys that are rare in both are taken for equally common."""
    ours, theirs = samples[one].keys.get(other, NO_KEYS), samples[other].keys.get(one, NO_KEYS)
    common = sum(share * theirs.common[key] for key, share in ours.common.items() if key in theirs.common)
    rare = ours.rest * theirs.rest / max(ours.others, theirs.others, 1.0)
    fewest = 1.0 / max(samples[one].rows, samples[other].rows, 1.0)
    return min(max(common + rare, fewest), 1.0)


def partner_of(join: Join, met: Sequence[int], number: int) -> int | None:
    """The stream before it that a key links an input with and that bounds its time most."""
    near = [other for other in met if other in join.streams and number in join.linked([other])]
    if number not in join.streams or not near:
        return None
    return min(near, key=lambda other: join.reach[other][number] + join.reach[number][other])


def choose_bins(join: Join, samples: Sequence[InputSample], met: Sequence[int], rows: float,
                step: JoinStep) -> JoinStep:
    """The step with bins where it then takes clearly less; `rows` are those of the inputs before it."""
    mine = samples[step.input].rows
    binned = in_bins(join, met, step.input, mine <= rows)
    if not binned.bin:
        return step
    span = max(samples[step.input].span, samples[binned.partner].span, 1.0)
    pairs = rows * mine * matching(samples, binned.partner, step.input)
    near = pairs * min(1.0, 2 * binned.bin / span)
    plain = ROW * (rows + mine) + PAIR * pairs
    return step if plain < WORTH * (ROW * (rows + mine + min(rows, mine)) + PAIR * near) else binned


def in_bins(join: Join, met: Sequence[int], number: int, copied: bool) -> JoinStep:
    """The step that joins an input in bins, as wide as its bounds with its nearest partner are; without, if none has a
    key with it or bounds its time."""
    partner = partner_of(join, met, number)
    width = 0.0 if partner is None else join.reach[partner][number] + join.reach[number][partner]
    if partner is None or isinf(width):
        return JoinStep(number)
    return JoinStep(number, partner, max(int(width), 1), copied)


def rows_after(join: Join, samples: Sequence[InputSample], met: Sequence[int], rows: float, number: int) -> float:
    """About how many rows there are when one more input is joined."""
    other = next(other for other in met if number in join.linked([other]))
    pairs = rows * samples[number].rows * matching(samples, other, number)
    partner = partner_of(join, met, number)
    if partner is None:
        return max(pairs, 1.0)
    width = join.reach[partner][number] + join.reach[number][partner]
    return max(pairs * min(1.0, width / max(samples[number].span, 1.0)), 1.0)
