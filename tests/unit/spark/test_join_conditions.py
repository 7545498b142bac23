"""What Spark is told of a join of streams: bounds as intervals, which it adds by the calendar from a day on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from weft.model.join import DAY, SECOND, ZONE_JUMP, Join, JoinInput, JoinKey, TimeBound, bound_sql
from weft.spark.stages.join import as_interval, stream_condition

HOUR = 3600 * SECOND
NEW_YORK = ZoneInfo("America/New_York")


def chain(hours: int, size: int = 3) -> Join:
    """Streams that each lie within so many hours of the one before."""
    inputs = tuple(JoinInput(name, name, "ts", (("ts", f"{name}.ts"), ("k", f"{name}.k"))) for name in "abcd"[:size])
    keys = tuple(JoinKey(i, i + 1, f"`{'abcd'[i]}.k`", f"`{'abcd'[i + 1]}.k`") for i in range(size - 1))
    pairs = [pair for i in range(size - 1) for pair in ((i, i + 1), (i + 1, i))]
    return Join(inputs, keys, tuple(TimeBound(a, b, hours * HOUR) for a, b in pairs))


def add_as_spark(time: datetime, micros: int) -> datetime:
    """A moment with an interval added: whole days by the calendar of the zone, the rest as it is."""
    days, rest = divmod(micros, DAY)
    local = time.astimezone(NEW_YORK).replace(tzinfo=None) + timedelta(days=days)
    return local.replace(tzinfo=NEW_YORK).astimezone(UTC) + timedelta(microseconds=rest)


def test_bounds_that_add_up_to_a_day_hold_when_clocks_change():
    """A row of news 26 hours before its trade, in a night that is an hour shorter."""
    join = chain(13)
    implied = [bound for bound in join.implied_between((0, 1), 2) if {bound.later, bound.earlier} == {0, 2}]
    news, trade = datetime(2024, 3, 9, 17, tzinfo=UTC), datetime(2024, 3, 10, 19, tzinfo=UTC)
    assert [bound.micros for bound in implied] == [26 * HOUR] * 2
    assert add_as_spark(news, 26 * HOUR) < trade <= add_as_spark(news, as_interval(implied[0], ()).micros)
    told = stream_condition(join, (0, 1), 2)
    for bound in implied:
        assert bound_sql(bound, join.times) not in told
        assert bound_sql(TimeBound(bound.later, bound.earlier, 26 * HOUR + ZONE_JUMP), join.times) in told
    assert f"unix_micros(`a.ts`) - unix_micros(`c.ts`) <= {26 * HOUR}L" in told


@pytest.mark.parametrize(("join", "met", "most"), [(chain(11), (0, 1), 22), (chain(30, 2), (0,), 56)])
def test_what_has_room_already_stays_as_it_is(join, met, most):
    """Less than a day, or a bound of days, which is taken for as long as it can be."""
    told = stream_condition(join, met, len(join.inputs) - 1)
    assert f"INTERVAL '{most * 3600}' SECOND" in told and f"INTERVAL '{(most + 26) * 3600}' SECOND" not in told
