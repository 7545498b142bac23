"""A window join as a value: streams and tables, the keys that are equal, and how far apart times may lie (004 §3).

It is a source of rows like any other, whose columns are those of all inputs: `trades.price`. Joins that mean the same
have the same value, whatever their aliases and the order in which they were written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from math import inf, isinf

SECOND = 1_000_000
DAY = 86_400 * SECOND
# How far an interval of days may be off its usual length: zones have jumped by up to a day.
ZONE_JUMP = 26 * 3600 * SECOND
DIGITS = 12


@dataclass(frozen=True)
class JoinInput:
    """A source that is joined: a stream where it has a `time`, else a table. `alias` begins the names of its columns,
    which are (own name, name in the join)."""

    source: str
    alias: str
    time: str | None
    columns: tuple[tuple[str, str], ...]

    @property
    def event_time(self) -> str | None:
        """The name that its event time has in the join."""
        return dict(self.columns)[self.time] if self.time else None


@dataclass(frozen=True)
class TimeBound:
    """`later` is at most `micros` after `earlier`, both numbers of inputs; the interval stands beside one of the two.

    That and whether it is `strict` matter only from a day on: in zones that change their clocks a day is not 24 hours.
    """

    later: int
    earlier: int
    micros: int
    beside_later: bool = False
    strict: bool = False

    def plain(self) -> TimeBound:
        """The bound in the one form that all of less than a day have."""
        if abs(self.micros) >= DAY:
            return self
        return TimeBound(self.later, self.earlier, self.micros - self.strict)


@dataclass(frozen=True)
class JoinKey:
    """Two expressions that are equal, each over the columns of one input, whose numbers are `left` and `right`."""

    left: int
    right: int
    left_sql: str
    right_sql: str


@dataclass(frozen=True)
class Join:
    """An inner join of two to five sources, all reached by keys; every two streams are bound in time both ways.

    Event times are moments, or `local` times of no zone.
    """

    inputs: tuple[JoinInput, ...]
    keys: tuple[JoinKey, ...]
    bounds: tuple[TimeBound, ...]
    local: bool = False

    @cached_property
    def name(self) -> str:
        """What it is called as a source: no name that a user can give has blanks."""
        return f"{' JOIN '.join(each.alias for each in self.inputs)} #{self.digest}"

    @cached_property
    def digest(self) -> str:
        """A short text that means this join."""
        meaning = [[[each.source, each.alias, each.time] for each in self.inputs], self.conditions]
        return sha256(json.dumps(meaning).encode()).hexdigest()[:DIGITS]

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """All that rows must meet, in Spark SQL over the columns of the join."""
        return (*(key_sql(key) for key in self.keys), *(bound_sql(bound, self.times) for bound in self.bounds))

    @property
    def times(self) -> tuple[str | None, ...]:
        """The event time of each input, quoted."""
        return tuple(backquoted(each.event_time) if each.event_time else None for each in self.inputs)

    @property
    def streams(self) -> tuple[int, ...]:
        """The numbers of the inputs that have an event time."""
        return tuple(number for number, each in enumerate(self.inputs) if each.time)

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources that it reads, each once."""
        return tuple(dict.fromkeys(each.source for each in self.inputs))

    @cached_property
    def reach(self) -> tuple[tuple[float, ...], ...]:
        """`reach[i][j]`: how many microseconds input i can be after input j, at most (see `close_bounds`)."""
        return close_bounds(len(self.inputs), self.bounds)

    def keys_between(self, some: Iterable[int], other: int) -> tuple[JoinKey, ...]:
        """The keys that link an input with some others."""
        met = {*some, other}
        return tuple(key for key in self.keys if other in (key.left, key.right) and {key.left, key.right} <= met)

    def bounds_between(self, some: Iterable[int], other: int) -> tuple[TimeBound, ...]:
        """The bounds that an input has with some others."""
        met = {*some, other}
        return tuple(b for b in self.bounds if other in (b.later, b.earlier) and {b.later, b.earlier} <= met)

    def implied_between(self, some: Iterable[int], other: int) -> tuple[TimeBound, ...]:
        """What all bounds together say of an input and some others, whether one binds them directly or not."""
        pairs = [pair for one in some for pair in ((one, other), (other, one))]
        return tuple(TimeBound(a, b, int(self.reach[a][b])) for a, b in pairs if not isinf(self.reach[a][b]))

    def linked(self, some: Iterable[int]) -> set[int]:
        """The inputs that a key links with one of some others."""
        met = set(some)
        return {b for key in self.keys for a, b in ((key.left, key.right), (key.right, key.left))
                if a in met and b not in met}


def close_bounds(size: int, bounds: Iterable[TimeBound]) -> tuple[tuple[float, ...], ...]:
    """The furthest that each input can be after each other one, by all bounds together (Floyd and Warshall); a bound
    of days is taken for as long as it can ever be."""
    found = [[0.0 if i == j else inf for j in range(size)] for i in range(size)]
    for bound in bounds:
        slack = ZONE_JUMP if abs(bound.micros) >= DAY else -bound.strict
        found[bound.later][bound.earlier] = min(found[bound.later][bound.earlier], bound.micros + slack)
    for middle in range(size):
        for i in range(size):
            for j in range(size):
                found[i][j] = min(found[i][j], found[i][middle] + found[middle][j])
    return tuple(map(tuple, found))


def reached_from(first: int, pairs: Iterable[AbstractSet[int]]) -> set[int]:
    """The inputs that pairs of linked ones lead to from one of them."""
    found, left = {first}, list(pairs)
    while more := [pair for pair in left if pair & found and pair - found]:
        found = found.union(*more)
    return found


def key_sql(key: JoinKey) -> str:
    """The equality of a key."""
    return f"{key.left_sql} = {key.right_sql}"


def bound_sql(bound: TimeBound, times: Sequence[str | None]) -> str:
    """The condition of a bound over the times of the inputs."""
    sign, interval = "<" if bound.strict else "<=", seconds_sql(bound.micros)
    if bound.beside_later:
        return f"{times[bound.later]} - {interval} {sign} {times[bound.earlier]}"
    return f"{times[bound.later]} {sign} {times[bound.earlier]} + {interval}"


def micros_sql(bound: TimeBound, times: Sequence[str | None]) -> str:
    """The condition of a bound as a comparison of numbers: Spark takes far longer to add an interval to a moment."""
    return f"unix_micros({times[bound.later]}) - unix_micros({times[bound.earlier]}) <= {bound.micros}L"


def seconds_sql(micros: int) -> str:
    """Microseconds as an interval of Spark SQL."""
    whole, rest = divmod(abs(micros), SECOND)
    digits = f".{rest:06d}" if rest else ""
    return f"INTERVAL '{'-' if micros < 0 else ''}{whole}{digits}' SECOND"


def backquoted(name: str) -> str:
    """A column's name that means this column, dots and all."""
    return f"`{name.replace('`', '``')}`"


def tightest(bounds: Iterable[TimeBound]) -> tuple[TimeBound, ...]:
    """Of bounds of the same two inputs the one that says most; all that are a day or more long."""
    found: dict[tuple, TimeBound] = {}
    for bound in map(TimeBound.plain, bounds):
        long = abs(bound.micros) >= DAY
        place = (bound.later, bound.earlier, (bound.beside_later, bound.strict) if long else None)
        if place not in found or bound.micros < found[place].micros:
            found[place] = bound
    return tuple(sorted(found.values(), key=lambda b: (b.later, b.earlier, b.micros, b.beside_later, b.strict)))


def column_names(inputs: Sequence[tuple[str, Sequence[str]]]) -> list[tuple[tuple[str, str], ...]]:
    """For each alias with its columns their names in the join, no two alike even where case is ignored."""
    taken: set[str] = set()
    found = []
    for alias, columns in inputs:
        named = []
        for column in columns:
            name = f"{alias}.{column}"
            while name.lower() in taken:
                name += "_"
            taken.add(name.lower())
            named.append((column, name))
        found.append(tuple(named))
    return found


def number_aliases(sources: Iterable[str]) -> list[str]:
    """A name for each input: its source's, with a number where that is joined with itself."""
    names = list(sources)
    made: list[str] = []
    for name in names:
        alias, number = name, 1
        while alias.lower() in (other.lower() for other in made) or (number > 1 and alias in names):
            number += 1
            alias = f"{name}_{number}"
        made.append(alias)
    return made


def rename(mapping: Mapping[int, int], keys: Iterable[JoinKey],
           bounds: Iterable[TimeBound]) -> tuple[list[JoinKey], list[TimeBound]]:
    """Keys and bounds whose inputs have other numbers."""
    return ([JoinKey(mapping[k.left], mapping[k.right], k.left_sql, k.right_sql) for k in keys],
            [TimeBound(mapping[b.later], mapping[b.earlier], b.micros, b.beside_later, b.strict) for b in bounds])


@dataclass(frozen=True)
class JoinStep:
    """How an input is joined with those before it: in bins of so many microseconds of the time of input `partner`,
    where `copied` says whose rows lie in two bins, those of the input or those before it; or without bins."""

    input: int
    partner: int = -1
    bin: int = 0
    copied: bool = True


@dataclass(frozen=True)
class JoinMethod:
    """In which order a join's inputs are joined and how; `reason` says what that was chosen by. Rows are the same."""

    first: int
    steps: tuple[JoinStep, ...]
    reason: str = "as keys link them"

    @property
    def order(self) -> tuple[int, ...]:
        """The inputs in the order that they are joined in."""
        return (self.first, *(step.input for step in self.steps))


def plain_method(join: Join) -> JoinMethod:
    """The inputs in order, each when a key links it with those before it; streams before tables."""
    first = next(iter(join.streams), 0)
    order = [first]
    while len(order) < len(join.inputs):
        linked = sorted(join.linked(order), key=lambda number: (join.inputs[number].time is None, number))
        order.append(linked[0])
    return JoinMethod(first, tuple(JoinStep(number) for number in order[1:]))
