"""One value at a time: what sequential kernels call. Plain Python here; `compiled.py` tells numba the same functions.

A kernel names its operation by an instance of a tag class: numba compiles a kernel once per tag and type and can keep
the result on disk, which it cannot for a function passed as an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from weft.aggregates.operation import State

COMBINES = [0]  # how many combines plain Python has done; compiled kernels do not count


class Add(NamedTuple):
    """The tag of sums."""

    code: int = 0


class Min(NamedTuple):
    """The tag of minima."""

    code: int = 0


class Max(NamedTuple):
    """The tag of maxima."""

    code: int = 0


class BitAnd(NamedTuple):
    """The tag of bitwise and."""

    code: int = 0


class BitOr(NamedTuple):
    """The tag of bitwise or."""

    code: int = 0


class BitXor(NamedTuple):
    """The tag of bitwise exclusive or."""

    code: int = 0


class Moments(NamedTuple):
    """The tag of central moments, always of all five fields."""

    code: int = 0


class Comoments(NamedTuple):
    """The tag of co-moments."""

    code: int = 0


def add(op, a, b):
    """The sum."""
    return a + b


def subtract(op, a, b):
    """What is left of a sum."""
    return a - b


def pick(second, a, b):
    """The second value or the first; compiled without a branch, for no processor can guess which of two is larger."""
    return b if second else a


def smaller(op, a, b):
    """The smaller integer."""
    return pick(b < a, a, b)


def larger(op, a, b):
    """The larger integer."""
    return pick(b > a, a, b)


def smaller_float(op, a, b):
    """The smaller number, NaN being the largest of all."""
    return pick(a != a, pick(b < a, a, b), b)


def larger_float(op, a, b):
    """The larger number, NaN being the largest of all."""
    return pick(b != b, pick(b > a, a, b), b)


def not_smaller(op, a, b):
    """Whether b is at least as large as a, NaN being the largest of all."""
    return (b >= a) | (b != b)


def not_larger(op, a, b):
    """Whether b is at most as large as a, NaN being the largest of all."""
    return (b <= a) | (a != a)


def bit_and(op, a, b):
    """Bitwise and."""
    return a & b


def bit_or(op, a, b):
    """Bitwise or."""
    return a | b


def bit_xor(op, a, b):
    """Bitwise exclusive or, its own inverse."""
    return a ^ b


def moments(op, a, b):
    """Merge (n, mean, m2, m3, m4) of two sides, as `merge_moments` does for arrays."""
    if b[0] == 0.0:
        return a
    if a[0] == 0.0:
        return b
    na, nb = a[0], b[0]
    n = na + nb
    delta = b[1] - a[1]
    share = delta / n
    m2 = a[2] + b[2] + delta * share * na * nb
    m3 = a[3] + b[3] + share * share * delta * na * nb * (na - nb) + 3.0 * share * (na * b[2] - nb * a[2])
    cross = share * share * share * delta * na * nb * (na * na - na * nb + nb * nb)
    squares = 6.0 * share * share * (na * na * b[2] + nb * nb * a[2])
    m4 = a[4] + b[4] + cross + squares + 4.0 * share * (na * b[3] - nb * a[3])
    return (n, a[1] + share * nb, m2, m3, m4)


def comoments(op, a, b):
    """Merge (n, mean x, mean y, sxy, sxx, syy) of two sides."""
    if b[0] == 0.0:
        return a
    if a[0] == 0.0:
        return b
    n = a[0] + b[0]
    dx, dy, weight = b[1] - a[1], b[2] - a[2], a[0] * b[0] / n
    return (n, a[1] + dx / n * b[0], a[2] + dy / n * b[0],
            a[3] + b[3] + dx * dy * weight, a[4] + b[4] + dx * dx * weight, a[5] + b[5] + dy * dy * weight)


class Scalar(NamedTuple):
    """An operation's functions of two values: of integers or of tuples, of floats where they differ, and the inverse.

    Of a selective operation, `beats` says whether the later value b is the combination of a and b.
    """

    combine: Callable[[Any, Any, Any], Any]
    floating: Callable[[Any, Any, Any], Any] | None = None
    inverse: Callable[[Any, Any, Any], Any] | None = None
    beats: Callable[[Any, Any, Any], Any] | None = None
    commutes: bool = True


SCALARS: dict[type, Scalar] = {
    Add: Scalar(add, inverse=subtract),
    Min: Scalar(smaller, smaller_float, beats=not_larger),
    Max: Scalar(larger, larger_float, beats=not_smaller),
    BitAnd: Scalar(bit_and),
    BitOr: Scalar(bit_or),
    BitXor: Scalar(bit_xor, inverse=bit_xor),
    Moments: Scalar(moments),
    Comoments: Scalar(comoments),
}

TAGS: dict[str, tuple] = {
    "add": Add(), "min": Min(), "max": Max(), "bit_and": BitAnd(), "bit_or": BitOr(), "bit_xor": BitXor(),
    "moments": Moments(), "comoments": Comoments(),
}


def load(state: State, i: int) -> Any:
    """Value i of a state: a number, or a tuple of its fields."""
    return state[0][i] if len(state) == 1 else tuple(a[i] for a in state)


def store(state: State, i: int, value: Any) -> None:
    """Put a value at place i of a state."""
    if len(state) == 1:
        state[0][i] = value
    else:
        for target, field in zip(state, value, strict=True):
            target[i] = field


def peek(array, i):
    """Element i of an array."""
    return array[i]


def poke(array, i, value):
    """Put an element into an array."""
    array[i] = value


def combine(op: tuple, a: Any, b: Any) -> Any:
    """The earlier value a and the later value b as one."""
    COMBINES[0] += 1
    scalar = SCALARS[type(op)]
    return (scalar.floating if scalar.floating and isinstance(a, float) else scalar.combine)(op, a, b)


def inverse(op: tuple, a: Any, b: Any) -> Any:
    """The value a without the value b that was combined into it."""
    COMBINES[0] += 1
    undo = SCALARS[type(op)].inverse
    assert undo is not None
    return undo(op, a, b)


def beats(op: tuple, a: Any, b: Any) -> bool:
    """Whether the combination of a and the later b is b: a combine and a look at what came out."""
    COMBINES[0] += 1
    wins = SCALARS[type(op)].beats
    assert wins is not None
    return wins(op, a, b)


def commutes(op: tuple) -> bool:
    """Whether the order of two values does not matter."""
    return SCALARS[type(op)].commutes


def end_of(dense, hi, ahead, step):
    """Where the windows of a step end, in slices of the key; where data is dense, `ahead` of the step's number."""
    return ahead + step if dense else hi[step]


def begin_of(dense, lo, reach, end, step, r):
    """Where the window of range r of a step begins; where data is dense, at most `reach` slices before its end."""
    return max(0, end - reach) if dense else lo[step, r]
