"""The operations that kernels fold: arrays in, arrays out, and the properties that decide which kernel is legal.

A state is a tuple of equally long arrays, one per field; element i of all of them is one value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

State = tuple[np.ndarray, ...]
Types = tuple[np.dtype, ...]

# The longest chain of additions whose rounding stays within 1e-12 of Σ|x|: 8192 · 2⁻⁵³ < 1e-12 (DESIGN's bound).
LINEAR = 8192
# Longer running sums are made of chains this long: three levels of them serve 2³³ values and stay within LINEAR.
STRETCH = 2048


def types_of(state: State) -> Types:
    """The types of a state's fields."""
    return tuple(a.dtype for a in state)


@dataclass(frozen=True)
class Operation:
    """An associative `combine` with an identity, and the properties that open faster algorithms.

    `inverse` takes away what `combine` put in (`x + y − y = x`), exactly for integers only. A selective combine
    returns one of its arguments. `ufunc` does the work of combine field by field; it is None where fields mix.
    `exact` says that the inverse is exact whatever the types. Compiled kernels take a state `padded` to so many fields,
    and where fields mix its costs are looked up under `priced_as`.
    """

    name: str
    combine: Callable[[State, State], State]
    identity: Callable[[Types], tuple]
    inverse: Callable[[State, State], State] | None = None
    idempotent: bool = False
    selective: bool = False
    commutative: bool = True
    ufunc: np.ufunc | None = None
    exact: bool = False
    padded: int = 0
    priced_as: str = ""

    def invertible(self, types: Types) -> bool:
        """Whether taking away is exact: an inverse exists, and it says so or every field is an integer."""
        return self.inverse is not None and (self.exact or all(t.kind in "iu" for t in types))

    def rounds(self, types: Types) -> bool:
        """Whether combining rounds: floating fields, or objects, that are added up rather than chosen from."""
        return not self.idempotent and any(t.kind in "fO" for t in types)

    def empty(self, types: Types, size: int) -> State:
        """A state of `size` identities."""
        return tuple(filled(size, e, t) for e, t in zip(self.identity(types), types, strict=True))

    def scan(self, state: State, axis: int = 0, out: State | None = None) -> State:
        """Running folds along an axis, from the first element on, into `out` if it is given."""
        target = out or tuple(np.empty(a.shape, a.dtype) for a in state)
        if self.ufunc is not None:
            for a, b in zip(state, target, strict=True):
                if self.rounds((a.dtype,)) and a.shape[axis] > LINEAR:
                    _scan_in_stretches(self.ufunc, np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1))
                else:
                    self.ufunc.accumulate(a, axis=axis, dtype=a.dtype, out=b)
        else:
            _doubled_scan(self, state, axis, target)
        return target

    def reduce_runs(self, state: State, first: np.ndarray) -> State:
        """One value per run, where run i spans `first[i]` up to `first[i + 1]`."""
        size = len(state[0])
        if len(first) == size:
            return state
        if self.ufunc is not None:
            return tuple(self.ufunc.reduceat(a, first, dtype=a.dtype) for a in state)
        return _pairwise(self, state, first, size)


def filled(size: int, value: object, kind: np.dtype) -> np.ndarray:
    """An array of one value, which may be a tuple or a list where the type is that of objects."""
    array = np.empty(size, kind)
    array.fill(value)
    return array


def _scan_in_stretches(ufunc: np.ufunc, source: np.ndarray, out: np.ndarray) -> None:
    """Running folds along the last axis: within every stretch, then with the fold of all stretches before it."""
    lows = range(0, source.shape[-1], STRETCH)
    for low in lows:
        here = slice(low, low + STRETCH)
        ufunc.accumulate(source[..., here], axis=-1, dtype=source.dtype, out=out[..., here])
    if len(lows) < 2:
        return
    totals = out[..., STRETCH - 1 :: STRETCH]
    before = np.empty(totals.shape, totals.dtype)
    _scan_in_stretches(ufunc, totals.copy(), before)
    for number, low in enumerate(lows[1:]):
        here = slice(low, low + STRETCH)
        ufunc(before[..., number : number + 1], out[..., here], out=out[..., here])


def _doubled_scan(operation: Operation, source: State, axis: int, out: State) -> None:
    """Running folds in log₂ passes: each doubles how far back an element has folded."""
    state = tuple(np.moveaxis(a, axis, 0) for a in out)
    for target, value in zip(out, source, strict=True):
        target[...] = value
    step, size = 1, len(state[0])
    while step < size:
        later = operation.combine(tuple(a[:-step] for a in state), tuple(a[step:] for a in state))
        for target, value in zip(state, later, strict=True):
            target[step:] = value
        step *= 2


def _pairwise(operation: Operation, state: State, first: np.ndarray, size: int) -> State:
    """Fold runs by combining neighbours of the same run until each run is one value."""
    run = np.repeat(np.arange(len(first)), np.diff(np.append(first, size)))
    while len(run) > len(first):
        inside = np.arange(len(run)) - np.searchsorted(run, run)
        even = np.flatnonzero(inside % 2 == 0)
        paired = even[np.flatnonzero(np.append(run[1:] == run[:-1], False)[even])]
        merged = operation.combine(tuple(a[paired] for a in state), tuple(a[paired + 1] for a in state))
        kept = tuple(a[even].copy() for a in state)
        place = np.searchsorted(even, paired)
        for target, value in zip(kept, merged, strict=True):
            target[place] = value
        state, run = kept, run[even]
    return state


def _fieldwise(ufunc: np.ufunc) -> Callable[[State, State], State]:
    def combine(a: State, b: State) -> State:
        return tuple(ufunc(x, y) for x, y in zip(a, b, strict=True))

    return combine


def _lowest(kind: np.dtype) -> float | int | bool:
    if kind.kind == "f":
        return -np.inf
    return False if kind.kind == "b" else int(np.iinfo(kind).min)


def _highest(kind: np.dtype) -> float | int | bool:
    # NaN is the largest value in Spark's order, and fmin ignores it beside any other.
    if kind.kind == "f":
        return np.nan
    return True if kind.kind == "b" else int(np.iinfo(kind).max)


def ufunc_operation(name: str, ufunc: np.ufunc, identity: Callable[[np.dtype], object], *, idempotent: bool = False,
                 selective: bool = False, inverse: np.ufunc | None = None) -> Operation:
    """An operation whose combine is one ufunc, field by field."""
    back = None if inverse is None else _fieldwise(inverse)
    return Operation(name, _fieldwise(ufunc), lambda types: tuple(identity(t) for t in types), back, idempotent,
                  selective, ufunc=ufunc)


def _safe_ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """part / whole, and 0 where the whole is empty."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole != 0)


def _keep_nonempty(a: State, b: State, merged: State) -> State:
    """The other side as it is where one side is empty, so that no inf·0 of an empty side leaves a NaN."""
    left, right = b[0] == 0, a[0] == 0
    if not (left.any() or right.any()):
        return merged
    return tuple(np.where(left, x, np.where(right, y, m)) for x, y, m in zip(a, b, merged, strict=True))


def merge_moments(a: State, b: State) -> State:
    """Merge (n, mean, m2[, m3[, m4]]) of two sides (Chan et al.; Pébay 2008), as Spark's CentralMomentAgg does."""
    na, nb = a[0], b[0]
    n = na + nb
    with np.errstate(all="ignore"):
        delta = b[1] - a[1]
        share = _safe_ratio(delta, n)
        mean = a[1] + share * nb
        m2 = a[2] + b[2] + delta * share * na * nb
        merged: State = (n, mean, m2)
        if len(a) > 3:
            m3 = a[3] + b[3] + share * share * delta * na * nb * (na - nb) + 3 * share * (na * b[2] - nb * a[2])
            merged = (*merged, m3)
        if len(a) > 4:
            cross = share * share * share * delta * na * nb * (na * na - na * nb + nb * nb)
            squares = 6 * share * share * (na * na * b[2] + nb * nb * a[2])
            merged = (*merged, a[4] + b[4] + cross + squares + 4 * share * (na * b[3] - nb * a[3]))
    return _keep_nonempty(a, b, merged)


def merge_comoments(a: State, b: State) -> State:
    """Merge (n, mean x, mean y, sxy, sxx, syy) of two sides."""
    na, nb = a[0], b[0]
    n = na + nb
    with np.errstate(all="ignore"):
        dx, dy = b[1] - a[1], b[2] - a[2]
        weight = _safe_ratio(na * nb, n)
        means = (a[1] + _safe_ratio(dx, n) * nb, a[2] + _safe_ratio(dy, n) * nb)
        sums = (a[3] + b[3] + dx * dy * weight, a[4] + b[4] + dx * dx * weight, a[5] + b[5] + dy * dy * weight)
    return _keep_nonempty(a, b, (n, *means, *sums))


def _zeros(types: Types) -> tuple:
    return tuple(0 for _ in types)


ADD = ufunc_operation("add", np.add, lambda t: 0, inverse=np.subtract)
MIN = ufunc_operation("min", np.fmin, _highest, idempotent=True, selective=True)
MAX = ufunc_operation("max", np.maximum, _lowest, idempotent=True, selective=True)
BIT_AND = ufunc_operation("bit_and", np.bitwise_and, lambda t: -1, idempotent=True)
BIT_OR = ufunc_operation("bit_or", np.bitwise_or, lambda t: 0, idempotent=True)
BIT_XOR = ufunc_operation("bit_xor", np.bitwise_xor, lambda t: 0, inverse=np.bitwise_xor)
MOMENTS = Operation("moments", merge_moments, _zeros, padded=5, priced_as="moments")
COMOMENTS = Operation("comoments", merge_comoments, _zeros, priced_as="comoments")

OPERATIONS: tuple[Operation, ...] = (ADD, MIN, MAX, BIT_AND, BIT_OR, BIT_XOR, MOMENTS, COMOMENTS)
