"""Values of states and answers side by side: whether two agree within rounding, and how they are shown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from weft.aggregates.monoid import State


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
