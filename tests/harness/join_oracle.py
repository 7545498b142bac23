"""A join in the plainest way: every row of every input with every other, and each condition asked of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import product

from weft.model.join import Join

Row = Mapping[str, object]


def joined_rows(join: Join, tables: Mapping[str, Sequence[Row]]) -> list[dict[str, object]]:
    """The rows of a join whose keys are plain columns, under the names of its columns."""
    sides = [[{name: row[own] for own, name in each.columns} for row in tables[each.source]] for each in join.inputs]
    made = ({name: value for side in rows for name, value in side.items()} for rows in product(*sides))
    return [row for row in made if meets(join, row)]


def meets(join: Join, row: Row) -> bool:
    """Whether keys are equal and not null, and no time is further after another than its bound allows."""
    keys = [(row[key.left_sql.strip("`")], row[key.right_sql.strip("`")]) for key in join.keys]
    times = [row[each.event_time] if each.event_time else None for each in join.inputs]
    return all(left is not None and left == right for left, right in keys) and all(
        within(times[bound.later], times[bound.earlier], bound.micros) for bound in join.bounds)


def within(later: object, earlier: object, micros: int) -> bool:
    """Whether one time is at most so far after another; a time that is null is neither."""
    known = isinstance(later, datetime) and isinstance(earlier, datetime)
    return known and later - earlier <= timedelta(microseconds=micros)  # type: ignore[operator]
