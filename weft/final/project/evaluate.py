"""A projection over answers: HAVING first, then the outputs of what passes, as Arrow arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from weft.final.project.columns import AnswerScope, require_sound
from weft.final.project.projection import AnswerColumns, Projection


def evaluate(projection: Projection, answers: AnswerColumns) -> list[pa.Array]:
    """The outputs of the answers that pass HAVING. Raises NeedsSpark where Spark raises an error, or might."""
    every = AnswerScope(projection, answers)
    return output_arrays(projection, every, passing_rows(projection, every))


def passing_rows(projection: Projection, every: AnswerScope) -> np.ndarray | None:
    """The places of the answers that pass HAVING, None where all do."""
    if projection.having is None:
        return None
    with np.errstate(all="ignore"):
        found = require_sound(every.read(projection.having))
    passed = np.broadcast_to(np.asarray(found.true), every.size)
    return None if passed.all() else np.flatnonzero(passed)


def output_arrays(projection: Projection, every: AnswerScope, rows: np.ndarray | None) -> list[pa.Array]:
    """The outputs of some answers, of all where `rows` is None."""
    scope = every if rows is None else AnswerScope(projection, every.answers, rows, every)
    with np.errstate(all="ignore"):
        return [scope.output(node) for node in projection.outputs]
