"""What does not fold: slices keep lists or sets of values, and the kernel of the same name in `final/bags` answers."""

from __future__ import annotations

from weft.aggregates.monoids.base import Monoid

LISTS = ("flatten(collect_list({0}))",)
SETS = ("array_distinct(flatten(collect_list({0})))",)


def bag_of_rows(name: str, lends: bool = False) -> Monoid:
    """A monoid whose slices keep the values of all their rows."""
    return Monoid(name, merges=LISTS, lends=lends, bag=True, keeps_rows=True)


def bag_of_distinct(name: str, lends: bool = False) -> Monoid:
    """A monoid whose slices keep their distinct values."""
    return Monoid(name, merges=SETS, lends=lends, bag=True)


PERCENTILE = bag_of_rows("percentile")
RANK = bag_of_rows("rank")
MODE = bag_of_rows("mode")
LIST = bag_of_rows("list", lends=True)
DISTINCT = bag_of_distinct("distinct")
SET = bag_of_distinct("set", lends=True)
REGISTERS = bag_of_distinct("registers")
