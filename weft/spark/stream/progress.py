"""Metrics of triggers: what Spark reports of a stream's trigger, as values; nothing here needs Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any

from weft.cost.shedding.triggers import TriggerLoad, measure_triggers
from weft.spark.stream.answer_counts import Labels, read_counts
from weft.spark.stream.counts import COUNTS

# What a rate that people read is taken over: most triggers close no window, so those of a single one would flicker.
MINUTE = 60.0
# Spark's watermark before it has seen a row.
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What Spark calls its join of streams, and how the names of what is observed of a stream that is joined begin.
JOIN_OPERATOR, SOURCE_PREFIX = "symmetricHashJoin", "weft source "


@dataclass(frozen=True)
class TriggerMetrics:
    """One trigger of one scan; `answers` holds the queries that got some, `at` is when the trigger began.

    Where the scan reads a join, `join_rows` are the rows that it holds, or at least so many where triggers before the
    first one that was seen have left some (`join_rows_at_least`), and `watermarks` has that of each stream: Spark takes
    the least of them.
    """

    scan: str
    at: datetime
    batch: int | None = None
    rows: int = 0
    rows_per_second: float = 0.0
    answers: Mapping[str, int] = field(default_factory=dict)
    answers_per_second: float = 0.0
    watermark: datetime | None = None
    lag_seconds: float | None = None
    trigger_seconds: float = 0.0
    state_rows: int = 0
    state_bytes: int = 0
    late: int = 0
    dead: int = 0
    join_rows: int = 0
    watermarks: Mapping[str, datetime] = field(default_factory=dict)
    shed: int = 0
    join_rows_at_least: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The figures for machines, always with the same keys."""
        times = {"at": format_time(self.at), "watermark": format_time(self.watermark),
                 "watermarks": {name: format_time(when) for name, when in self.watermarks.items()}}
        return {**{name: getattr(self, name) for name in KEYS}, **times, "answers": dict(self.answers)}

    @property
    def slowest(self) -> str | None:
        """The source of a join whose watermark holds back the others, if one does."""
        late = min(self.watermarks, key=lambda name: self.watermarks[name], default=None)
        behind = late is not None and self.watermarks[late] < max(self.watermarks.values())
        return late if behind else None


KEYS = ("scan", "batch", "at", "rows", "rows_per_second", "answers", "answers_per_second", "watermark", "lag_seconds",
        "trigger_seconds", "state_rows", "state_bytes", "late", "dead", "join_rows", "join_rows_at_least", "watermarks",
        "shed")


@dataclass(frozen=True)
class Totals:
    """What all triggers of one or more scans have in sum; every query has a place in `answers` from the start."""

    triggers: int = 0
    rows: int = 0
    answers: Mapping[str, int] = field(default_factory=dict)
    late: int = 0
    dead: int = 0
    shed: int = 0

    def __add__(self, other: Totals) -> Totals:
        answers = Counter(self.answers)
        answers.update(other.answers)
        return Totals(self.triggers + other.triggers, self.rows + other.rows, dict(answers), self.late + other.late,
                      self.dead + other.dead, self.shed + other.shed)

    def to_dict(self) -> dict[str, Any]:
        """The totals for machines."""
        return {"triggers": self.triggers, "rows": self.rows, "answers": dict(self.answers), "late": self.late,
                "dead": self.dead, "shed": self.shed}


@dataclass(frozen=True)
class ScanMetrics:
    """What is known of a scan now: its totals, its last figures, and those of the last minute."""

    scan: str
    active: bool
    totals: Totals
    last: TriggerMetrics | None = None
    recent: tuple[TriggerMetrics, ...] = ()


@dataclass(frozen=True)
class Rates:
    """What came in and went out in a second, over the last minute."""

    rows: float = 0.0
    answers: Mapping[str, float] = field(default_factory=dict)


def trigger_metrics(scan: str, progress: Mapping[str, Any], labels: Labels, now: datetime,
                    before: TriggerMetrics | None = None) -> TriggerMetrics:
    """The figures of a trigger from Spark's progress, of which every field may be missing; `before` are those of the
    trigger before it."""
    observed, state = get_table(progress, "observedMetrics"), get_tables(progress, "stateOperators")
    seconds = to_number(get_table(progress, "durationMs").get("triggerExecution")) / 1000
    own = get_table(observed, "weft")
    rows = to_count(own["rows"] if "rows" in own else progress.get("numInputRows"))
    answers = count_answers(get_table(observed, "answers"), labels)
    watermark = watermark_of(get_table(progress, "eventTime").get("watermark"))
    batch = to_count(progress["batchId"]) if progress.get("batchId") is not None else None
    held, at_least = count_held([one for one in state if one.get("operatorName") == JOIN_OPERATOR], batch, before)
    others = sum(to_count(one.get("numRowsTotal")) for one in state if one.get("operatorName") != JOIN_OPERATOR)
    return TriggerMetrics(
        scan,
        parse_time(progress.get("timestamp")) or now,
        batch,
        rows,
        rate(rows, seconds),
        answers,
        rate(sum(answers.values()), seconds),
        watermark,
        watermark_lag(watermark, now),
        seconds,
        held + others,
        sum(to_count(one.get("memoryUsedBytes")) for one in state),
        sum(to_count(one.get("numRowsDroppedByWatermark")) for one in state) + to_count(own.get("late")),
        to_count(own.get("dead")),
        held,
        source_watermarks(observed, before.watermarks if before else {}),
        to_count(get_table(observed, "shed").get("dropped")),
        at_least,
    )


def count_held(joins: Sequence[Mapping[str, Any]], batch: int | None,
               before: TriggerMetrics | None) -> tuple[int, bool]:
    """The rows that joins hold after a trigger, and whether there may be more of them.

    Where Spark does not count them, they are those from before, what the trigger adds, and not what it removes; a
    stream that goes on from its checkpoint may hold rows that no trigger told of.
    """
    total = sum(to_count(one.get("numRowsTotal")) for one in joins)
    if total or not joins:
        return total, False
    change = sum(to_count(one.get("numRowsUpdated")) - to_count(one.get("numRowsRemoved")) for one in joins)
    held = (before.join_rows if before else 0) + change
    return max(held, 0), held < 0 or (before.join_rows_at_least if before else batch != 0)


def source_watermarks(observed: Mapping[str, Any], before: Mapping[str, datetime]) -> dict[str, datetime]:
    """How far each stream of a join has come: its latest row, less what rows may be late; never back."""
    found = dict(before)
    for name, values in observed.items():
        source = name.removeprefix(SOURCE_PREFIX)
        latest = values.get("latest") if isinstance(values, Mapping) and source != name else None
        if isinstance(latest, int):
            reached = EPOCH + timedelta(milliseconds=latest - to_number(values.get("delay")))
            found[source] = max(reached, found.get(source, reached))
    return found


def count_answers(observed: Mapping[str, Any], labels: Labels) -> dict[str, int]:
    """The answers of each query that got some; queries that share their answers each get all of them."""
    found: Counter[str] = Counter()
    told = observed.get(COUNTS)
    for queries, count in read_counts(told if isinstance(told, list) else [], labels):
        found.update(dict.fromkeys(queries, count) if count else {})
    return dict(found)


def sum_triggers(figures: Iterable[TriggerMetrics], queries: Iterable[str] = ()) -> Totals:
    """The sums over triggers; the queries that are named have a place though they got no answer."""
    answers: Counter[str] = Counter(dict.fromkeys(queries, 0))
    taken = list(figures)
    for one in taken:
        answers.update(one.answers)
    return Totals(len(taken), sum(f.rows for f in taken), dict(answers), sum(f.late for f in taken),
                  sum(f.dead for f in taken), sum(f.shed for f in taken))


def sum_totals(readings: Iterable[ScanMetrics]) -> Totals:
    """The sums over scans: a query that several of them have answered has one sum."""
    found = [one.totals for one in readings]
    answers: Counter[str] = Counter()
    for one in found:
        answers.update(one.answers)
    plain = {name: sum(getattr(one, name) for one in found) for name in ("triggers", "rows", "late", "dead", "shed")}
    return Totals(answers=dict(answers), **plain)


def last_minute(figures: Iterable[TriggerMetrics], now: datetime) -> tuple[TriggerMetrics, ...]:
    """The figures of triggers that ended within the last minute."""
    since = now - timedelta(seconds=MINUTE)
    return tuple(one for one in figures if end_of_trigger(one) > since)


def current_rates(figures: Iterable[TriggerMetrics], now: datetime) -> Rates:
    """The pace by the clock, so that it falls while no trigger runs: from the first recent one's begin until now."""
    taken = last_minute(figures, now)
    began = min((one.at for one in taken), default=now)
    seconds = min(max((now - began).total_seconds(), 1.0), MINUTE)
    sums = sum_triggers(taken)
    return Rates(rate(sums.rows, seconds), {query: rate(count, seconds) for query, count in sums.answers.items()})


def trigger_load(figures: Iterable[TriggerMetrics]) -> TriggerLoad | None:
    """What recent triggers took, whatever their rows and for them; None where there are too few to tell."""
    taken = sorted(figures, key=lambda one: one.at)
    if not taken:
        return None
    elapsed = (end_of_trigger(taken[-1]) - taken[0].at).total_seconds()
    return measure_triggers([(one.trigger_seconds, one.rows) for one in taken], elapsed)


def end_of_trigger(figures: TriggerMetrics) -> datetime:
    """When a trigger was done."""
    return figures.at + timedelta(seconds=figures.trigger_seconds)


def rate(count: int, seconds: float) -> float:
    """So many a second; none where no time passed."""
    return round(count / seconds, 3) if seconds > 0 else 0.0


def watermark_lag(watermark: datetime | None, now: datetime) -> float | None:
    """The seconds by which the watermark is behind the clock."""
    return None if watermark is None else round((now - watermark).total_seconds(), 3)


def watermark_of(text: object) -> datetime | None:
    """The watermark, unless Spark has seen no row yet."""
    found = parse_time(text)
    return None if found is None or found == EPOCH else found


def parse_time(text: object) -> datetime | None:
    """An ISO time; UTC where it says no zone, None where it is none."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def format_time(when: datetime | None) -> str | None:
    """A time as machines read it, to the millisecond."""
    return None if when is None else when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def get_table(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A table in a table, empty where there is none."""
    found = values.get(key)
    return found if isinstance(found, Mapping) else {}


def get_tables(values: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """A list of tables in a table, empty where there is none."""
    found = values.get(key)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def to_number(value: object) -> float:
    """A number that is one and not below zero, else zero."""
    known = isinstance(value, int | float) and isfinite(value) and value > 0
    return float(value) if known else 0.0  # type: ignore[arg-type]


def to_count(value: object) -> int:
    """A whole number that is not below zero, else zero."""
    return value if isinstance(value, int) and value > 0 else int(to_number(value))
