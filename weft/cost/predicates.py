"""How several predicates share the slices of a scan: columns for each of them, or rows grouped by those they pass."""

from __future__ import annotations

from weft.cost.cutting import COSTS, CutCosts


def most_filtered(plain: int, kinds: float, rows: float, costs: CutCosts = COSTS) -> float:
    """Up to how many columns filters take less than shards, which have `plain` ones.

    Under filters every column looks at every row. Under shards a slice of so many rows falls into as many as its rows
    are of different kinds, and each of them goes to Python for itself.
    """
    return plain + costs.slice / costs.column * (shards_of_slice(kinds, rows) - 1) / max(rows, 1.0)


def shards_of_slice(kinds: float, rows: float) -> float:
    """How many of so many equally frequent kinds are among the rows of a slice."""
    return kinds * (1 - (1 - 1 / kinds) ** max(rows, 1.0)) if kinds > 1 else 1.0
