"""What one builds on to extend Weft from outside: algorithms, aggregates and monoids, all of them plain values.

An algorithm is given where it is asked for: `loom.run(algorithm={"max": mine})`. An aggregate is added by
`loom.aggregate`, and brings the monoids of its components along. Workers get what is not Weft's own with the stages.
See CONTRIBUTING.md.
"""

from __future__ import annotations

from weft.aggregates.base import Aggregate, Argument, BadArgument, UnsupportedType
from weft.aggregates.component import ROWS, Component, Lift, Lowered, lifted
from weft.aggregates.monoids import MONOIDS, Monoid, find_monoid
from weft.aggregates.monoids.lanes import HERE, NULL, OVERFLOW, Decoded, Lane, plain_lane, ranked_lane
from weft.aggregates.monoids.merge import merge_values
from weft.aggregates.operation import OPERATIONS, Operation, State, Types, ufunc_operation
from weft.final.algorithms import ALGORITHMS, Algorithm, Card, CombineBound
from weft.final.algorithms.bulk import Bulk
from weft.final.bags import BagKernel

__all__ = [
    "ALGORITHMS",
    "HERE",
    "MONOIDS",
    "NULL",
    "OPERATIONS",
    "OVERFLOW",
    "ROWS",
    "Aggregate",
    "Algorithm",
    "Argument",
    "BadArgument",
    "BagKernel",
    "Bulk",
    "Card",
    "CombineBound",
    "Component",
    "Decoded",
    "Lane",
    "Lift",
    "Lowered",
    "Monoid",
    "Operation",
    "State",
    "Types",
    "UnsupportedType",
    "find_monoid",
    "lifted",
    "merge_values",
    "plain_lane",
    "ranked_lane",
    "ufunc_operation",
]
