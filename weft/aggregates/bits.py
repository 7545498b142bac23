"""bit_and, bit_or and bit_xor over the bitwise monoids."""

from __future__ import annotations

from collections.abc import Callable

from weft.aggregates.base import INTEGRAL, Aggregate, Argument, UnsupportedType
from weft.aggregates.component import Component, Lowered, lifted
from weft.aggregates.monoids import Monoid, bits


def lower_bits(monoid: Monoid) -> Callable[[tuple[Argument, ...], str], Lowered]:
    """The lowering of one bitwise aggregate."""

    def lower(args: tuple[Argument, ...], only: str) -> Lowered:
        if args[0].type not in INTEGRAL:
            raise UnsupportedType(args[0].type)
        lifts = (lifted(only, args[0].sql),)
        return Lowered((Component(monoid, (f"{monoid}({args[0].sql}){only}",), args[0].type, lifts=lifts),))

    return lower


BIT_AND = Aggregate("bit_and", lower_bits(bits.BIT_AND))
BIT_OR = Aggregate("bit_or", lower_bits(bits.BIT_OR))
BIT_XOR = Aggregate("bit_xor", lower_bits(bits.BIT_XOR))
