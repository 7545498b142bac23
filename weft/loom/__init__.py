"""The facade: sources and queries go in, a plan comes out; a plan explains, runs, starts, verifies.

In: DataFrames, paths and topics, SQL texts, aggregates of the user's own. Out: a `Plan`, and from it DataFrames,
written results, streams. `loom.py` and `registry.py` have what users call, the other modules what that is made of.
"""

from weft.loom.loom import Loom
from weft.loom.plan import Plan
from weft.loom.planning import OPTIMIZER

__all__ = ["OPTIMIZER", "Loom", "Plan"]
