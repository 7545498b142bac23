"""Checksums that Spark leaves beside the files that it writes to a disk, and looks at when it reads them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from mmap import ACCESS_READ, mmap
from zlib import crc32

import numpy as np

from weft.final.project import NeedsSpark

MARK = b"crc\0"  # how such a file begins; then come the size of a chunk, and a sum for each


def require_checksums(path: str, parts: Sequence[tuple[int, int]]) -> None:
    """Raise NeedsSpark where parts of a file are not what its checksums say, if it has any."""
    folder, name = os.path.split(path)
    beside = f"{folder}/.{name}.crc"
    if not os.path.exists(beside):
        return
    with open(beside, "rb") as file:
        kept = file.read()
    size, sums = int.from_bytes(kept[4:8], "big"), np.frombuffer(kept[8 : len(kept) // 4 * 4], ">u4").tolist()
    whole = os.path.getsize(path)
    if not kept.startswith(MARK) or size < 1 or len(sums) != -(-whole // size):
        raise NeedsSpark(f"{path} has checksums that are not its own")
    with open(path, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data, memoryview(data) as view:
        for begin, end in parts:
            for chunk in range(begin // size, -(-end // size)):
                if crc32(view[chunk * size : (chunk + 1) * size]) != sums[chunk]:
                    raise NeedsSpark(f"{path} is not what its checksums say")
