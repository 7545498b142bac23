"""What numba has to know of `values.py`; imported by the first kernel that compiles, never by the default path."""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import intrinsic, overload, register_jitable

from weft.final.algorithms import values

for plain in (values.end_of, values.begin_of):
    register_jitable(plain)


@overload(values.load)
def load(state, i):
    """A number, or a tuple of fields. Unsigned indices spare numba the look for negative ones."""
    match len(state):
        case 1:
            return lambda state, i: state[0][np.uintp(i)]
        case 2:
            return lambda state, i: (state[0][i], state[1][i])
        case 5:
            return lambda state, i: (state[0][i], state[1][i], state[2][i], state[3][i], state[4][i])
        case 6:
            return lambda state, i: (state[0][i], state[1][i], state[2][i], state[3][i], state[4][i], state[5][i])


@overload(values.store)
def store(state, i, value):
    """The same the other way."""
    return STORES[len(state)]


def _store1(state, i, value):
    state[0][np.uintp(i)] = value


def _store2(state, i, value):
    state[0][i], state[1][i] = value


def _store5(state, i, value):
    state[0][i], state[1][i], state[2][i], state[3][i], state[4][i] = value


def _store6(state, i, value):
    state[0][i], state[1][i], state[2][i], state[3][i], state[4][i], state[5][i] = value


STORES = {1: _store1, 2: _store2, 5: _store5, 6: _store6}


@overload(values.peek)
def peek(array, i):
    """No look for negative indices here either."""
    return lambda array, i: array[np.uintp(i)]


@overload(values.poke)
def poke(array, i, value):
    """The same the other way."""
    return _poke


def _poke(array, i, value):
    array[np.uintp(i)] = value


@overload(values.combine)
def combine(op, a, b):
    """The operation's function for this type."""
    scalar = values.SCALARS[op.instance_class]
    return scalar.floating if scalar.floating is not None and isinstance(a, types.Float) else scalar.combine


@intrinsic
def select(context, second, a, b):
    """The second of two values or the first, as one instruction."""

    def generate(context, builder, signature, arguments):
        return builder.select(arguments[0], arguments[2], arguments[1])

    return a(second, a, b), generate


@overload(values.pick)
def pick(second, a, b):
    """A choice without a branch."""
    return lambda second, a, b: select(second, a, b)  # type: ignore[call-arg]  # numba passes the context


@overload(values.beats)
def beats(op, a, b):
    """The operation's comparison."""
    return values.SCALARS[op.instance_class].beats


@overload(values.inverse)
def inverse(op, a, b):
    """The operation's inverse."""
    return values.SCALARS[op.instance_class].inverse


@overload(values.commutes)
def commutes(op):
    """A constant of the operation, so that the other branch is never compiled in."""
    return (lambda op: True) if values.SCALARS[op.instance_class].commutes else (lambda op: False)
