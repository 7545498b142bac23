"""Predicates: how queries that differ in WHERE share the slices of one scan."""

from __future__ import annotations

# More aggregates than these in one pass are more than Spark compiles well.
MOST_COLUMNS = 200


def share_predicates(columns: int) -> str:
    """By filters, a column set for each predicate in one slice, while these columns are few enough; else by shards,
    rows being grouped by the predicates that they pass (000 §5.3).

    A slice that goes to Python costs far more than one more number in it, and sharing a slice among predicates makes
    no more of them.
    """
    return "filters" if columns <= MOST_COLUMNS else "shards"
