"""Many keys with gaps: answers per second at 100, 50 and 10 % density, read by index or made dense first.

    python bench/final_ragged.py [--keys N] [--quick]

Every key has up to 1440 slices, one a minute, and an answer every minute. Keys are folded in chunks of 1000, each with
an `init` of its own. `--keys 100000` folds them all; the default is a sample of them. About four minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from final_common import KINDS, MEMBERS, Kind, arguments, best, copying, finish, results_for, settle_allocator

from weft.aggregates.operation import State
from weft.final.algorithms import Algorithm
from weft.final.algorithms.bulk import Bulk
from weft.final.algorithms.sequential import Sequential, dense_feed
from weft.final.fold.dense import TILE

MINUTES, CHUNK, ALL_KEYS = 1440, 1000, 100_000
FEW = 100  # keys that members fold which read by index without a table
DENSITIES, RANGES = (1.0, 0.5, 0.1), (60, 240)
FOLDED = tuple(kind for kind in KINDS if kind.name in ("sum int64", "sum float64", "max float64"))
LEFT_OUT = ("recalc",)  # folds every window anew: minutes


@dataclass(frozen=True)
class Chunk:
    """Slices of some keys: the values key by key, each one's minute, and where keys begin."""

    cells: State
    minute: np.ndarray
    keys: np.ndarray


def main() -> None:
    """Measures every member by index and made dense, beside memcpy."""
    options = arguments(__doc__, keys=(2 * CHUNK, f"keys to fold, of {ALL_KEYS:,}"))
    settle_allocator()
    keys = CHUNK if options.quick else options.keys
    results = results_for(options, keys=keys, all_keys=ALL_KEYS, chunk=CHUNK, minutes=MINUTES, left_out=LEFT_OUT,
                          few=FEW)
    ranges = RANGES[:1] if options.quick else RANGES
    cases = [(kind, density, span) for kind in FOLDED for density in DENSITIES for span in ranges]
    results["rates"] = [rate for case in cases for rate in rates(*case, keys // CHUNK)]
    finish("final_ragged", results)


def rates(kind: Kind, density: float, span: int, chunks: int) -> Iterator[dict[str, Any]]:
    """Nanoseconds an answer of every member, by every way of feeding it, and of building the index."""
    print(f"{kind.name}, {density:.0%} dense, range {span} ...", file=sys.stderr, flush=True)
    data = [make_chunk(kind, density, seed) for seed in range(chunks)]
    small = [make_chunk(kind, density, seed=0, keys=FEW)]
    index_ns = 1e9 * best(lambda: indexed(data[0], span), most=3) / (CHUNK * MINUTES)
    for name, algorithm in MEMBERS.items():
        if name in LEFT_OUT or kind.refusal(algorithm, [span]):
            continue
        facts = {"kind": kind.name, "density": density, "span": span, "member": name, "index_ns": index_ns}
        check(algorithm, kind, density, span)
        slow = isinstance(algorithm, Bulk) and algorithm.read_line is None  # slides once for every length that occurs
        for way, work in works(algorithm, kind, data, small if slow else data, density, span):
            keys = FEW if slow and way != "dense first" else chunks * CHUNK
            yield facts | {"way": way, "keys": keys} | timed(work, keys * MINUTES)


def works(algorithm: Algorithm, kind: Kind, data: list[Chunk], fed: list[Chunk], density: float,
          span: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The ways a member is fed: by index, made dense first, and as it comes where nothing is missing."""
    found = [(chunk.cells, *indexed(chunk, span)) for chunk in fed]
    yield "index", lambda: [algorithm.read(kind.operation, *each) for each in found]
    yield "dense first", lambda: [by_slide(algorithm, kind, chunk, span) for chunk in data]
    if density == 1.0 and isinstance(algorithm, Sequential):
        yield "as it comes", lambda: [by_step(algorithm, kind, chunk, span) for chunk in fed]


def check(algorithm: Algorithm, kind: Kind, density: float, span: int) -> None:
    """Ends the run if both ways do not agree on a few keys."""
    chunk = make_chunk(kind, density, seed=99, keys=30)
    (one,) = algorithm.read(kind.operation, chunk.cells, *indexed(chunk, span))
    other = by_slide(algorithm, kind, chunk, span)
    if not np.allclose(one, other.ravel(), rtol=1e-12, atol=0):
        sys.exit(f"{algorithm.card.name}: answers by index and made dense differ")


def timed(work: Callable[[], Any], answers: int) -> dict[str, float]:
    """Nanoseconds an answer, best of a few, and of copying a chunk's answers."""
    each = CHUNK * MINUTES
    member, memcpy = best(work, budget=0.15), best(copying(np.ones(each)), budget=0.02)
    return {"ns": 1e9 * member / answers, "memcpy_ns": 1e9 * memcpy / each}


def make_chunk(kind: Kind, density: float, seed: int, keys: int = CHUNK) -> Chunk:
    """Keys of which each has a slice at each minute with the same chance."""
    there = np.random.default_rng(seed).random((keys, MINUTES)) < density
    cuts = np.append(0, np.cumsum(there.sum(1)))
    return Chunk(kind.cells(int(cuts[-1]), seed), np.flatnonzero(there) % MINUTES, cuts)


def indexed(chunk: Chunk, span: int) -> tuple[np.ndarray, np.ndarray]:
    """For every key and minute the slices that its window holds: the first of them, and one past the last.

    Keys lie a day and a window apart on one axis of time, so one search over all keys finds what a search a key would.
    """
    apart, count = MINUTES + span, len(chunk.keys) - 1
    axis = chunk.minute + np.repeat(np.arange(count) * apart, np.diff(chunk.keys))
    ends = (np.arange(1, MINUTES + 1)[None, :] + (np.arange(count) * apart)[:, None]).ravel()
    return np.searchsorted(axis, ends - span)[:, None], np.searchsorted(axis, ends)


def by_step(algorithm: Sequential, kind: Kind, chunk: Chunk, span: int) -> State:
    """A chunk's answers by a kernel that takes every slice as a step."""
    kept = algorithm.begin(kind.operation, (kind.type,), [span], len(chunk.keys) - 1)
    return algorithm.step(kind.operation, kept, dense_feed(chunk.cells, [span], chunk.keys))


def by_slide(algorithm: Algorithm, kind: Kind, chunk: Chunk, span: int) -> np.ndarray:
    """A chunk's answers as workers on Spark make them: cells without gaps, tile by tile, and one `slide` over each."""
    width, keys = MINUTES + span - 1, len(chunk.keys) - 1
    tile = max(TILE // width, 1)
    answers = np.empty((keys, MINUTES), kind.type)
    for first in range(0, keys, tile):
        last = min(first + tile, keys)
        line = made_dense(kind, chunk, first, last, width, span)
        [(found,)] = algorithm.slide(kind.operation, line, [span], (last - first) * width)
        answers[first:last] = found.reshape(-1, width)[:, :MINUTES]
    return answers


def made_dense(kind: Kind, chunk: Chunk, first: int, last: int, width: int, span: int) -> State:
    """One cell a minute of some keys, identities where there is no slice, and a window's worth before every key."""
    piece = slice(chunk.keys[first], chunk.keys[last])
    line = kind.operation.empty((kind.type,), (last - first) * width + span - 1)
    counts = np.diff(chunk.keys[first : last + 1])
    line[0][chunk.minute[piece] + np.repeat(np.arange(last - first) * width + span - 1, counts)] = chunk.cells[0][piece]
    return line


if __name__ == "__main__":
    main()
