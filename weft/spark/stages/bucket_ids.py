"""Numbers of buckets that Spark shuffles to different partitions: few packed rows are then shared out evenly."""

from __future__ import annotations


def spread_bucket_ids(nodes: int, partitions: int) -> tuple[tuple[int, ...], ...]:
    """Numbers for a bucket a node and partition, chosen so that Spark's hash sends them to different partitions."""
    found: list[list[int]] = [[] for _ in range(partitions)]
    number = 0
    while min(map(len, found)) < nodes:
        home = found[murmur3(number) % partitions]
        if len(home) < nodes:
            home.append(number)
        number += 1
    return tuple(tuple(home[node] for home in found) for node in range(nodes))


def murmur3(number: int) -> int:
    """Spark's hash of an int: Murmur3 of 32 bits with the seed 42, as a signed number."""
    word = rotate_left(number * 0xCC9E2D51, 15) * 0x1B873593 & 0xFFFFFFFF
    value = rotate_left(42 ^ word, 13) * 5 + 0xE6546B64 & 0xFFFFFFFF
    value ^= 4
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        value = (value ^ value >> shift) * factor & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def rotate_left(value: int, by: int) -> int:
    """The lower 32 bits, rotated to the left."""
    value &= 0xFFFFFFFF
    return (value << by | value >> 32 - by) & 0xFFFFFFFF
