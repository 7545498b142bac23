"""Values of states and answers side by side: whether two agree within rounding, and how they are shown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from weft.aggregates.operation import State

NUMBERS = "iufb"


def value_at(state: State, i: int) -> Any:
    """One value of a state: a tuple of its fields, or the field itself where there is one."""
    return state[0][i] if len(state) == 1 else tuple(a[i] for a in state)


def shown(state: State, i: int) -> str:
    """One value of a state as text."""
    return plain(value_at(state, i))


def plain(value: Any) -> str:
    """A value without NumPy's names for its types."""
    if isinstance(value, tuple):
        return f"({', '.join(map(plain, value))})"
    return repr(value.item() if isinstance(value, np.generic) else value)


def agree(x: State, y: State, beside: Sequence[State] = (), rounding: float = 0.0) -> np.ndarray:
    """Where the values of two states agree, numbers within rounding of the largest of theirs and of those beside."""
    states = (x, y, *beside)
    if any(a.dtype.kind not in NUMBERS for state in states for a in state):
        rows = ([value_at(state, i) for state in states] for i in range(len(x[0])))
        return np.array([equal(a, b, others, rounding) for a, b, *others in rows], bool)
    with np.errstate(all="ignore"):
        sizes = [np.abs(a.astype(np.float64)) for state in states for a in state]
        slack = rounding * np.max([np.where(np.isfinite(size), size, 0.0) for size in sizes], axis=0)
        fields = [(a == b) | ((a != a) & (b != b)) | (np.abs(a - b) <= slack if a.dtype.kind == "f" else False)
                  for a, b in zip(x, y, strict=True)]
    return np.logical_and.reduce(fields)


def equal(x: Any, y: Any, beside: Sequence[Any] = (), rounding: float = 0.0) -> bool:
    """Whether two values agree, numbers within rounding of the largest number of theirs and of those beside."""
    slack = rounding * max((abs(n) for n in numbers([x, y, *beside])), default=0.0)
    return alike(x, y, slack)


def alike(x: Any, y: Any, slack: float) -> bool:
    """Whether two values agree, reals within `slack`."""
    if isinstance(x, dict) and isinstance(y, dict):
        return x.keys() == y.keys() and all(alike(x[key], y[key], slack) for key in x)
    if isinstance(x, tuple | list | np.ndarray) and isinstance(y, tuple | list | np.ndarray):
        return len(x) == len(y) and all(alike(a, b, slack) for a, b in zip(x, y, strict=True))
    if isinstance(x, float | np.floating) or isinstance(y, float | np.floating):
        return near(x, y, slack)
    return bool(x == y)


def near(x: Any, y: Any, slack: float) -> bool:
    """Whether two numbers, one of them real, agree: NaN with NaN, infinities with their own kind."""
    if x is None or y is None:
        return x is y
    return bool(x == y) or (math.isnan(x) and math.isnan(y)) or abs(x - y) <= slack


def numbers(value: Any) -> Iterator[float]:
    """The finite numbers within a value."""
    if isinstance(value, dict):
        yield from numbers(list(value.values()))
    elif isinstance(value, tuple | list | np.ndarray):
        for inner in value:
            yield from numbers(inner)
    elif isinstance(value, int | float | np.integer | np.floating) and math.isfinite(value):
        yield float(value)
