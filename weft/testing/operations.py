"""Operations for tests: one in which order matters, so that no algorithm may lean on commutativity unsaid."""

from __future__ import annotations

from typing import NamedTuple

from weft.aggregates.operation import Operation, State, Types
from weft.final.algorithms.values import SCALARS, TAGS, Scalar


class Affine(NamedTuple):
    """The tag of chained affine maps."""

    code: int = 0


def chain_maps(op, a, b):
    """The map x ↦ b(a(x)), of integers modulo 2**64."""
    return (a[0] * b[0], a[1] * b[0] + b[1])


def combine(a: State, b: State) -> State:
    """The same for arrays of maps."""
    return (a[0] * b[0], a[1] * b[0] + b[1])


def identity(types: Types) -> tuple:
    """The map x ↦ x."""
    return (1, 0)


AFFINE = Operation("affine", combine, identity, commutative=False)

SCALARS[Affine] = Scalar(chain_maps, commutes=False)
TAGS["affine"] = Affine()
