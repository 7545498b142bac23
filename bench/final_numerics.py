"""Sums of doubles over ten million slides: the worst error of every member against the bound 1e-12 · Σ|x|.

    python bench/final_numerics.py [--slides N] [--quick]

Members that the algebra refuses are run all the same, to show why. Ends with code 1 if a member that may fold doubles
breaks the bound or lets an infinity leave a trace. About four minutes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from final_common import FLOAT, MEMBERS, arguments, finish, results_for, settle_allocator
from final_page import refuse_broken

from weft.aggregates.operation import ADD
from weft.final.algorithms import Algorithm
from weft.final.algorithms.bulk import Bulk
from weft.final.algorithms.sequential import Sequential, dense_feed

BOUND = 1e-12
PIECE = 1_000_000  # slices a call
SPIKE, RARE = 1e16, 0.01
WINDOWS = {"uniform": (1000, 8192), "spike": (1000, 8192), "mixed": (1000, 8192), "odd": (1000, 8192),
           "tenths": (1000, 8192, 65536, 262_144)}
SAMPLE = {1000: 2000, 8192: 600, 65536: 120, 262_144: 30}  # windows looked at, besides those around what is odd
CANNOT = ("doubling", "slick_deque")  # not sums at all


@dataclass(frozen=True)
class Truth:
    """The exact sums of some windows, by their last slice, and their sums of absolute values."""

    ends: np.ndarray
    exact: np.ndarray
    scale: np.ndarray


def main() -> None:
    """Runs every member over every kind of data and window, and judges those that are legal."""
    options = arguments(__doc__, slides=(10_000_000, "slices of the stream"))
    settle_allocator()
    size = min(options.slides, 2 * PIECE) if options.quick else options.slides
    results = results_for(options, slides=size, bound=BOUND, piece=PIECE, spike=SPIKE, rare=RARE)
    results["errors"] = [error for name in WINDOWS for error in of_data(name, size)]
    finish("final_numerics", results)
    refuse_broken(results)


def data(name: str, size: int) -> np.ndarray:
    """A stream of doubles."""
    rng = np.random.default_rng(7)
    values = np.full(size, 0.1) if name == "tenths" else rng.random(size)
    if name == "spike":
        values[size // 3] = SPIKE
    if name == "mixed":
        values = np.where(rng.random(size) < RARE, rng.choice([SPIKE, -SPIKE], size), 1.0)
    if name == "odd":
        places = rng.choice(size, 12, replace=False)
        values[places] = np.resize([np.inf, -np.inf, np.nan, np.inf], 12)
        values[places[0] + 5] = -np.inf  # opposite infinities in one window
    return values


def of_data(name: str, size: int) -> Iterator[dict[str, Any]]:
    """The errors of every member over one stream, window by window."""
    values = data(name, size)
    for window in WINDOWS[name]:
        print(f"{name}, window {window:,} ...", file=sys.stderr, flush=True)
        truth = exact_sums(values, window)
        for member, algorithm in MEMBERS.items():
            if member not in CANNOT and algorithm.missing is None:
                refused = algorithm.supports(ADD, (FLOAT,), [window])
                found = sampled(algorithm, values, window, truth.ends)
                yield {"data": name, "window": window, "member": member, "refused": refused, **judge(found, truth)}


def exact_sums(values: np.ndarray, window: int) -> Truth:
    """The sums of a sample of windows by math.fsum, more of them where something enters or leaves."""
    rng = np.random.default_rng(11)
    special = np.flatnonzero(~np.isfinite(values) | (np.abs(values) >= SPIKE))[:20]
    near = np.concatenate([special + shift for shift in (-1, 0, 1, 5, 6, window - 1, window, window + 1, window + 6)])
    anywhere, last = rng.integers(window - 1, len(values), SAMPLE[window]), len(values) - 1 - np.arange(20)
    ends = np.unique(np.concatenate([anywhere, near, last]).astype(np.int64))
    ends = ends[(ends >= window - 1) & (ends < len(values))]
    spans = [values[end + 1 - window : end + 1] for end in ends]
    return Truth(ends, np.array([exact_sum(span) for span in spans]), np.array([scale_of(span) for span in spans]))


def exact_sum(span: np.ndarray) -> float:
    """The sum rounded once, or the NaN or infinity that Spark gives."""
    with np.errstate(invalid="ignore"):
        return math.fsum(span.tolist()) if np.isfinite(span).all() else float(span.sum())


def scale_of(span: np.ndarray) -> float:
    """The sum of the finite absolute values."""
    return math.fsum(np.abs(span[np.isfinite(span)]).tolist())


def sampled(algorithm: Algorithm, values: np.ndarray, window: int, ends: np.ndarray) -> np.ndarray:
    """A member's sums of the windows that end at some slices, the stream coming in pieces."""
    with np.errstate(all="ignore"):
        if algorithm.card.name == "recalc":
            return algorithm.read_line(ADD, (values,), ends + 1 - window, ends + 1)[0]  # type: ignore[attr-defined]
        pieces = (by_slide if isinstance(algorithm, Bulk) else by_step)(algorithm, values, window)
        found = [sums[ends[(ends >= first) & (ends < first + len(sums))] - first] for first, sums in pieces]
    return np.concatenate(found)


def by_slide(algorithm: Algorithm, values: np.ndarray, window: int) -> Iterator[tuple[int, np.ndarray]]:
    """Where each piece's first window ends, and its sums: every piece brings the slices before it that it needs."""
    for first in range(0, len(values), PIECE):
        begin = max(first - window + 1, 0)
        line = values[begin : first + PIECE]
        [(sums,)] = algorithm.slide(ADD, (line,), [window], len(line) - window + 1)
        yield begin + window - 1, sums


def by_step(algorithm: Sequential, values: np.ndarray, window: int) -> Iterator[tuple[int, np.ndarray]]:
    """The same from a state that lives as long as the stream."""
    kept = algorithm.begin(ADD, (FLOAT,), [window], 1)
    for first in range(0, len(values), PIECE):
        (sums,) = algorithm.step(ADD, kept, dense_feed((values[first : first + PIECE],), [window]))
        yield first, sums


def judge(found: np.ndarray, truth: Truth) -> dict[str, Any]:
    """The worst error as a multiple of the bound, whether non-finite sums are right, and whether they leave a trace."""
    finite = np.isfinite(truth.exact)
    with np.errstate(all="ignore"):
        errors = np.abs(found - truth.exact)[finite] / (BOUND * truth.scale[finite])
    trace = bool((~np.isfinite(found[finite])).any())
    odd = bool(np.array_equal(found[~finite], truth.exact[~finite], equal_nan=True))
    worst = float(np.nanmax(errors, initial=0.0))
    worst = worst if math.isfinite(worst) else None
    return {"worst": worst, "trace": trace, "odd_right": odd, "windows": len(found),
            "holds": not trace and odd and worst is not None and worst <= 1.0}


if __name__ == "__main__":
    main()
