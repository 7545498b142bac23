"""The mean length of SlickDeque's deque on i.i.d. input, against 001 Eq. 7's Σ 1/i! and the harmonic number H_n.

    python bench/deque_length.py [--quick]

The real kernel runs over many independent keys; between one-slice calls of `step` the lengths are read from its
state. Less than a minute.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from final_common import KINDS, MEMBERS, arguments, finish, results_for

from weft.final.algorithms.sequential import KernelState, dense_feed

WINDOWS = (10, 100, 1000, 10_000)
VALUES = 1 << 24  # places of all keys together, which sets how many keys a window has
MOST_KEYS, LOOKS, APART = 20_000, 40, 4  # looks are a quarter of a window apart
KIND = next(kind for kind in KINDS if kind.name == "max float64")


def main() -> None:
    """Measures the mean length at every window."""
    options = arguments(__doc__)
    windows = WINDOWS[:3] if options.quick else WINDOWS
    results = results_for(options)
    results["lengths"] = [mean_length(window) for window in windows]
    finish("deque_length", results)


def mean_length(window: int) -> dict[str, Any]:
    """The mean over keys and moments, its standard error over keys, and both formulas."""
    print(f"window {window:,} ...", file=sys.stderr, flush=True)
    keys = min(VALUES // window, MOST_KEYS)
    lengths = looked_at(window, keys)
    each = lengths.mean(0)
    return {
        "window": window, "keys": keys, "looks": len(lengths), "mean": float(each.mean()),
        "error": float(each.std(ddof=1) / math.sqrt(keys)), "longest": int(lengths.max()),
        "harmonic": sum(1 / i for i in range(1, window + 1)),
        "printed": sum(1 / math.factorial(i) for i in range(1, min(window, 20) + 1)),
    }


def looked_at(window: int, keys: int) -> np.ndarray:
    """The lengths of every key's deque at several moments after the windows have filled."""
    rng = np.random.default_rng(3)
    kept = MEMBERS["slick_deque"].begin(KIND.operation, (KIND.type,), [window], keys)
    fed(kept, rng, keys, 2 * window, window)
    looks = []
    for _ in range(LOOKS):
        fed(kept, rng, keys, max(window // APART - 1, 1), window)
        fed(kept, rng, keys, 1, window)
        looks.append(kept.marks[:, 1] - kept.marks[:, 0])
    return np.array(looks)


def fed(kept: KernelState, rng: np.random.Generator, keys: int, slices: int, window: int) -> None:
    """Feeds so many more slices a key."""
    cells = (rng.random(keys * slices),)
    feed = dense_feed(cells, [window], np.arange(keys + 1) * slices)
    MEMBERS["slick_deque"].step(KIND.operation, kept, feed)


if __name__ == "__main__":
    main()
