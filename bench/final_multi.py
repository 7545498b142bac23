"""Many ranges at once: answers per second and memory by the number of ranges (001 Fig. 12 and 13).

    python bench/final_multi.py [--quick]

All ranges 1 … n, and ranges evenly spaced up to 10,000 slices. Windows are full before the clock starts. `advance`
writes all answers into one table; `slide` makes the answers of one range after another and drops them. About four
minutes.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from final_common import (
    KINDS,
    MEMBERS,
    Kind,
    advancing,
    arguments,
    best,
    finish,
    results_for,
    settle_allocator,
    ways,
    work_of,
)

from weft.aggregates.operation import State
from weft.final.algorithms import Algorithm
from weft.final.algorithms.bulk import Bulk
from weft.final.algorithms.sequential import Sequential

ALL = (1, 4, 16, 64, 256, 1024)  # all ranges from 1 to this
EVEN = (10, 100, 1000)  # so many ranges, evenly spaced
FAR = 10_000  # the longest of the evenly spaced, and how many slides they make
ANSWERS = 1 << 22  # answers a call with all ranges from 1 to n
FEWER = 8  # how many times fewer slides bulk members make by `advance`, and all when memory is looked at
SLOW = 0.8  # seconds a call beyond which a member is not waited for


def main() -> None:
    """Measures every member that serves many ranges."""
    options = arguments(__doc__)
    settle_allocator()
    cases = list(cases_of(options.quick))
    results = results_for(options, far=FAR, slow=SLOW, cases=[name for name, _, _ in cases])
    results["rates"] = [rate for kind in KINDS for case in cases for rate in rates(kind, *case)]
    results["memory"] = [used for kind in KINDS[::3] for case in cases for used in memories(kind, *case)]
    finish("final_multi", results)


def cases_of(quick: bool) -> Iterator[tuple[str, list[int], int]]:
    """Each case's name, its ranges, and how many slides it makes."""
    for n in ALL[:4] if quick else ALL:
        yield f"1…{n}", list(range(1, n + 1)), min(1 << 20, ANSWERS // n) >> (6 if quick else 0)
    for count in EVEN[:1] if quick else EVEN:
        yield f"{count} of {FAR}", [FAR * (i + 1) // count for i in range(count)], FAR


def rates(kind: Kind, case: str, ranges: list[int], slides: int) -> Iterator[dict[str, Any]]:
    """Nanoseconds an answer of every member, and of writing as many answers alone."""
    print(f"{kind.name}, ranges {case} ...", file=sys.stderr, flush=True)
    for name, algorithm in MEMBERS.items():
        reason = kind.refusal(algorithm, ranges)
        for via in ways(algorithm):
            facts = {"kind": kind.name, "case": case, "ranges": len(ranges), "member": name, "via": via}
            yield facts | ({"refused": reason} if reason else rate(algorithm, via, kind, ranges, slides))


def rate(algorithm: Algorithm, via: str, kind: Kind, ranges: list[int], slides: int) -> dict[str, Any]:
    """Nanoseconds an answer of one member, best of several."""
    count = fewer(slides, ranges) if via == "advance" and isinstance(algorithm, Bulk) else slides
    if guess(algorithm, via, ranges, count) > SLOW:
        return {"skipped": "takes too long"}
    answers = count * len(ranges)
    member = best(work_of(via, algorithm, kind, kind.cells(count), ranges), budget=0.2)
    write = best(writing(answers, kind.type), budget=0.05)
    return {"answers": answers, "ns": 1e9 * member / answers, "write_ns": 1e9 * write / answers}


def guess(algorithm: Algorithm, via: str, ranges: Sequence[int], slides: int) -> float:
    """Roughly how many seconds one call takes."""
    answers, slow = slides * len(ranges), isinstance(algorithm, Bulk) and via == "advance"
    if algorithm.card.name == "recalc":
        return slides * sum(ranges) * (2e-8 if slow else 5e-10)
    if slow and algorithm.read_line is None:  # type: ignore[attr-defined]
        return answers * (1e-7 + 1e-9 * len(ranges))  # looks through all answers once a range
    return answers * (1e-7 if slow else 5e-8)


def fewer(slides: int, ranges: Sequence[int]) -> int:
    """A part of the slides, but as many as the longest range if there are."""
    return max(slides // FEWER, min(slides, max(ranges)))


def writing(size: int, kind: np.dtype) -> Callable[[], None]:
    """Work that allocates and writes so many answers and does nothing else."""
    return lambda: np.empty(size, kind).fill(1)


def memories(kind: Kind, case: str, ranges: list[int], slides: int) -> Iterator[dict[str, Any]]:
    """Bytes that every member keeps, and needs besides during one `advance`."""
    count = fewer(slides, ranges)
    for name, algorithm in MEMBERS.items():
        if not kind.refusal(algorithm, ranges) and guess(algorithm, "advance", ranges, count) <= SLOW:
            cells = kind.cells(count)
            yield {"kind": kind.name, "case": case, "ranges": len(ranges), "longest": max(ranges), "member": name,
                   "kept": kept_bytes(algorithm, kind, ranges),
                   **memory(advancing(algorithm, kind, cells, ranges), len(cells[0]) * len(ranges))}


def kept_bytes(algorithm: Algorithm, kind: Kind, ranges: list[int]) -> int:
    """What is kept between two calls: a kernel's arrays, or the slices that windows still see."""
    if not isinstance(algorithm, Sequential):
        return max(ranges) * kind.type.itemsize
    kept = algorithm.begin(kind.operation, (kind.type,), ranges, 1)
    return sum(a.nbytes for a in (kept.seen, kept.marks, kept.links, *kept.values))


def memory(work: Callable[[], State], answers: int) -> dict[str, int]:
    """The peak of one call without its answers."""
    work()
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return { "peak": max(peak - 8 * answers, 0), "answers": answers}


if __name__ == "__main__":
    main()
