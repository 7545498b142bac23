"""A projection of answers: its calls, HAVING and outputs as expressions; and the answers that it is evaluated over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from weft.aggregates.monoids.lanes import HERE, OVERFLOW
from weft.final.project.leaves import Key, Value
from weft.final.project.tree import Node, walk
from weft.final.project.vector import NeedsSpark

# The values of some answers by their places, or of all answers where those are None.
Take = Callable[[np.ndarray | None], pa.Array]


@dataclass(frozen=True, eq=False)
class Projection:
    """What an answer stage makes of its answers; `calls` and `having` are read by `outputs`, and it goes to workers."""

    calls: tuple[Node, ...]
    having: Node | None
    outputs: tuple[Node, ...]

    @property
    def values(self) -> tuple[str, ...]:
        """The names of the components' values that are read, each once."""
        return tuple(dict.fromkeys(node.name for node in self.nodes() if isinstance(node, Value)))

    @property
    def keys(self) -> tuple[int, ...]:
        """The places of the keys that are read, each once."""
        return tuple(dict.fromkeys(node.index for node in self.nodes() if isinstance(node, Key)))

    def nodes(self) -> list[Node]:
        """Every node of every expression."""
        roots = (*self.calls, *((self.having,) if self.having else ()), *self.outputs)
        return [node for root in roots for node in walk(root)]


class AnswerValues(NamedTuple):
    """A field of a component's answers: its values, and which of them are there (None: all).

    Nulls may also stand in an Arrow array itself. NumPy arrays are for int, bigint, double and boolean.
    """

    values: np.ndarray | pa.Array
    valid: np.ndarray | None = None


@dataclass(frozen=True)
class AnswerColumns:
    """So many answers in columns: `values` by name, such as `c1_value`; `keys` by place, taken where they are read.

    `start` says when the windows start, in microseconds, and `range` how long they are: one number, or one an answer.
    """

    size: int
    values: Mapping[str, AnswerValues]
    keys: Sequence[Take] = ()
    start: np.ndarray | None = None
    range: int | np.ndarray = 0


def take_answers(answers: AnswerColumns, places: np.ndarray) -> AnswerColumns:
    """The answers at some places alone."""
    values = {name: AnswerValues(found.take(pa.array(places)) if isinstance(found, pa.Array) else found[places],
                                 None if valid is None else valid[places])
              for name, (found, valid) in answers.values.items()}
    keys = [partial(take_key, key, places) for key in answers.keys]
    start = None if answers.start is None else answers.start[places]
    long = answers.range if isinstance(answers.range, int) else answers.range[places]
    return AnswerColumns(len(places), values, keys, start, long)


def take_key(key: Take, places: np.ndarray, rows: np.ndarray | None) -> pa.Array:
    """The keys of answers by their places among some."""
    return key(places if rows is None else places[rows])


def valid_where(marks: np.ndarray | None) -> np.ndarray | None:
    """Which values are there by their marks (None: all are); a sum that overflowed is Spark's to raise."""
    if marks is None or (marks == HERE).all():
        return None
    if (marks == OVERFLOW).any():
        raise NeedsSpark("a sum overflows")
    return marks == HERE
