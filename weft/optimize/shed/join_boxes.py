"""Where drop boxes of a join stand: at its inputs (004 Obs. 3), by the one key of all where legal, else by rows.

A hash of the key that all streams share keeps whole keys, so what is kept and what it costs shrink alike. It is legal
where no query reads that key, nor it an event time: of answers of few keys most would be missing, and the others many
times too great. By rows each input has a share of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from weft.aggregates.weighted import WEIGHT_DIGITS
from weft.cost.shedding.estimates import FEWEST_KEPT, Z95
from weft.cost.shedding.sampling import Sampling, share_with_variance
from weft.errors import PlanError, QueryError
from weft.model.join import Join, backquoted
from weft.model.query import ERROR_OF, Query

# How many shares of the first of two inputs are tried.
TRIED = 64
_NAMES = re.compile(r"`(?:[^`]|``)+`")


@dataclass(frozen=True)
class JoinBoxes:
    """The share that is kept of each input that has a box, by its number; `by` is the SQL of the key that decides, by
    input, over the columns of its source, and empty where each row is kept for itself."""

    shares: tuple[tuple[int, float], ...]
    by: tuple[tuple[int, str], ...] = ()

    @property
    def weighed(self) -> tuple[int, ...]:
        """The inputs whose weights count: one, where a key decides for all."""
        return tuple(number for number, _ in self.shares)[: 1 if self.by else None]

    @property
    def share(self) -> float:
        """The share of joined rows that is kept."""
        found = 1.0
        for number, share in self.shares:
            found *= share if number in self.weighed else 1.0
        return found

    @property
    def weight(self) -> int:
        """For how many joined rows one may stand."""
        return prod(Sampling(share).weight for number, share in self.shares if number in self.weighed)

    def words(self, join: Join) -> str:
        """What is kept, in words."""
        kept = [f"{join.inputs[number].alias} {100 * share:.3g} %" for number, share in self.shares]
        return f"of the keys of {', '.join(kept)}" if self.by else f"of {', of '.join(kept)}"


def read_by(queries: Iterable[Query]) -> list[str]:
    """All SQL of queries that may tell rows of one key from those of others: what answers they are in, or whether."""
    found = [part for query in queries for part in (query.time, query.where, *query.keys, *query.order)]
    calls = [part for query in queries for call in query.calls for part in (*call.args, call.filter)]
    return [part for part in (*found, *calls) if part is not None]


def one_key(join: Join, read: Iterable[str]) -> tuple[tuple[int, str], ...]:
    """The key that all streams of a join share, as the SQL of each over its source; nothing where there is none, or
    where queries read it, or it reads an event time, which says what windows its rows are in."""
    taken = {name for sql in (*read, *filter(None, join.times)) for name in _NAMES.findall(sql)}
    for sides in equal_sides(join):
        # The first of several expressions of an input, in every process: boxes are named by it.
        mine = {number: sql for number, sql in sorted(sides, reverse=True) if number in join.streams}
        used = {name for _, sql in sides for name in _NAMES.findall(sql)}
        if len(mine) == len(join.streams) > 1 and not used & taken:
            return tuple((number, own_sql(join, number, mine[number])) for number in sorted(mine))
    return ()


def equal_to(join: Join, by: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """All that a join makes equal to a key, tables too, each as SQL over its source."""
    groups = [{(number, own_sql(join, number, sql)) for number, sql in sides} for sides in equal_sides(join)]
    return sorted(next((group for group in groups if group.issuperset(by)), ()))


def equal_sides(join: Join) -> list[set[tuple[int, str]]]:
    """Expressions that a join makes equal, each with the number of its input."""
    found: list[set[tuple[int, str]]] = []
    for key in join.keys:
        both = {(key.left, key.left_sql), (key.right, key.right_sql)}
        met = [group for group in found if group & both]
        found = [group for group in found if group not in met] + [both.union(*met)]
    return found


def own_sql(join: Join, number: int, sql: str) -> str:
    """An expression over a join's columns as one over those of its source."""
    own = {backquoted(name): backquoted(column) for column, name in join.inputs[number].columns}
    return _NAMES.sub(lambda found: own.get(found[0], found[0]), sql)


def fixed_boxes(join: Join, dropped: Mapping[str, float], queries: Iterable[Query]) -> JoinBoxes:
    """The boxes of sources that drop a share of their rows: by a key where all streams drop the same share."""
    shares = tuple((number, 1 - dropped[each.source]) for number, each in enumerate(join.inputs)
                   if dropped.get(each.source))
    alike = tuple(number for number, _ in shares) == join.streams and len({share for _, share in shares}) == 1
    return JoinBoxes(shares, one_key(join, read_by(queries)) if alike else ())


def refuse_errors(queries: Iterable[Query], boxes: JoinBoxes) -> None:
    """Raise where a query asks for errors that nobody can tell: of rows of two inputs these are known where no third
    one multiplies pairs."""
    for query in queries:
        assert query.join is not None
        if len(boxes.weighed) < 2 or len(query.join.inputs) == 2:
            continue
        if any(call.function.startswith(ERROR_OF) for call in query.calls):
            named = [query.join.inputs[number].source for number in boxes.weighed]
            raise QueryError(query.name, f"it asks for errors, and the rows of {' and '.join(named)} are dropped, each "
                             "for itself, below a join of more than two sources.",
                             hint="Drop rows of one of them only, or the same share of all by a key that all are "
                                  "joined by and no query reads; or leave out error().")


def refuse_weights(names: Sequence[str], boxes: JoinBoxes) -> None:
    """Raise where a joined row would stand for more rows than sums of decimals can be multiplied by."""
    if boxes.weight >= 10**WEIGHT_DIGITS:
        raise PlanError(f"a row of the join of {' and '.join(names)} would stand for {boxes.weight:,} rows, and "
                        f"answers are exact below {10**WEIGHT_DIGITS:,} only: let its sources drop less.")


@dataclass(frozen=True)
class UnitNeeds:
    """What answers are made of that are dropped or kept as one, rows of an input or keys: how few of these one answer
    in twenty has, and how great its V is by the square of its bound; `pairs` is that of single joined rows."""

    units: float
    variance: float
    pairs: float = 0.0

    def __or__(self, other: UnitNeeds) -> UnitNeeds:
        """What is needed for both."""
        return UnitNeeds(min(self.units, other.units), max(self.variance, other.variance),
                         max(self.pairs, other.pairs))

    @property
    def least(self) -> float:
        """The share below which too few are kept for an error to mean anything."""
        return min(1.0, FEWEST_KEPT / max(self.units, 1.0))

    def share(self) -> float:
        """The share of these that keeps every bound, where nothing else is dropped."""
        return max(self.least, share_at_most(1 / (Z95 * Z95 * self.variance) if self.variance else 1e9))


def share_at_most(variance: float) -> float:
    """The least share whose weights have a variance of at most so much; all, where that is nothing."""
    return min(1.0, share_with_variance(variance)) if variance > 0 else 1.0


def row_shares(left: UnitNeeds, right: UnitNeeds, rows: tuple[float, float, float]) -> tuple[float, float]:
    """The shares of two inputs that keep every bound and read and join fewest rows: v_a V_a + v_b V_b + v_a v_b V_ab is
    at most 1 / z², with v the variance of weights. `rows` are those of both inputs and of the join."""
    found = [(1.0, 1.0)]
    for number in range(TRIED + 1):
        first = left.share() + (1 - left.share()) * number / TRIED
        v = Sampling(first).variance
        room = 1 / (Z95 * Z95) - v * left.variance
        per = right.variance + v * max(left.pairs, right.pairs)
        second = max(right.least, share_at_most(room / per if per else 1e9)) if room >= 0 else 1.0
        if room >= 0:
            found.append((first, second))
    return min(found, key=lambda each: join_work(each, rows))


def join_work(shares: Sequence[float], rows: tuple[float, float, float]) -> float:
    """Rows that are joined and rows of the result, behind drop boxes."""
    return shares[0] * rows[0] + shares[1] * rows[1] + shares[0] * shares[1] * rows[2]

