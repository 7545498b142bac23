"""One range: slides per second by window (001 Fig. 11), latency of a slide (Fig. 14), and the aims against memcpy.

    python bench/final_single.py [--slides N] [--quick]

Windows are full before the clock starts. A member allocates its output itself in every call; memcpy (np.copyto of the
same array to one that is there) is timed at both ends of the run. The best of several counts. The aims are measured on
a line that fits the cache and on one that does not. Five minutes.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from final_common import (
    KINDS,
    MEMBERS,
    Kind,
    arguments,
    best,
    copy_ns,
    finish,
    results_for,
    settle_allocator,
    ways,
    work_of,
)
from final_latency import latency
from final_tables import AIM_WINDOWS, AIMS, way_of

from weft.final.algorithms.bulk import TILE

WINDOWS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576)
QUICK = (16, 1024)
LARGE = 1 << 24
RECALC = {"slide": 4096, "advance": 16}  # the longest windows for which folding anew is worth waiting for
RECALC_WORK = 1 << 27  # combines a call
INDEXED = 1 << 18  # slides that bulk members make by `advance`, whose index arrays make it slow, in windows up to this
INDEXED_WINDOWS = (1, 16, 1024, 65536, 1048576)


def main() -> None:
    """Measures every member that may fold each kind, then the latency of single slides."""
    options = arguments(__doc__, slides=(1 << 20, "slices on the line"))
    settle_allocator()
    windows = QUICK if options.quick else WINDOWS
    slides = min(options.slides, 1 << 16) if options.quick else options.slides
    results = results_for(options, slides=slides, windows=windows, recalc=RECALC, memcpy_ns=copy_ns(slides))
    results["rates"] = [rate for kind in KINDS for window in windows for rate in rates(kind, window, slides)]
    for wanted in () if options.quick else (worth_it, aimed_at):
        again([r for r in results["rates"] if "ns" in r and wanted(r)], slides)
    results["memcpy_ns"] = min(results["memcpy_ns"], copy_ns(slides))
    results["limits"] = limits(slides)
    results["large"] = {} if options.quick else large(LARGE)
    results["latency"] = latency(options.quick)
    finish("final_single", results)


def rates(kind: Kind, window: int, slides: int) -> list[dict[str, Any]]:
    """Nanoseconds a slide of every member at one window."""
    print(f"{kind.name}, window {window:,} ...", file=sys.stderr, flush=True)
    found = []
    for name, algorithm in MEMBERS.items():
        reason = kind.refusal(algorithm, [window])
        for via in ways(algorithm):
            facts = {"kind": kind.name, "window": window, "member": name, "via": via}
            measured = {"refused": reason} if reason else rate(name, via, kind, window, slides)
            found.append(facts | measured)
    return found


def rate(name: str, via: str, kind: Kind, window: int, slides: int) -> dict[str, Any]:
    """Nanoseconds a slide of one member, best of several."""
    bulk = len(ways(MEMBERS[name])) > 1
    if (name == "recalc" and window > RECALC[via]) or (bulk and via == "advance" and window not in INDEXED_WINDOWS):
        return {"skipped": "takes too long"}
    count = slides_of(name, via, window, slides)
    cells = kind.cells(count)
    member = best(work_of(via, MEMBERS[name], kind, cells, [window]), budget=0.1)
    return {"slides": count, "ns": 1e9 * member / count}


def again(records: list[dict[str, Any]], slides: int) -> None:
    """Measures records once more, some minutes later, and keeps the better time: others use the machine at times."""
    print(f"{len(records)} of them again ...", file=sys.stderr, flush=True)
    kinds = {kind.name: kind for kind in KINDS}
    for record in records:
        found = rate(record["member"], record["via"], kinds[record["kind"]], record["window"], slides)
        record["ns"] = min(record["ns"], found["ns"])


def large(slides: int) -> dict[str, Any]:
    """The members that have an aim, and memcpy, on a line that no cache holds."""
    print(f"{slides:,} slices ...", file=sys.stderr, flush=True)
    found = []
    for kind, window, (name, algorithm) in product(KINDS, AIM_WINDOWS, MEMBERS.items()):
        if name in AIMS and not kind.refusal(algorithm, [window]):
            facts = {"kind": kind.name, "window": window, "member": name, "via": way_of(name)}
            found.append(facts | rate(name, way_of(name), kind, window, slides))
    return {"slides": slides, "windows": AIM_WINDOWS, "memcpy_ns": copy_ns(slides), "rates": found}


def limits(slides: int) -> list[dict[str, Any]]:
    """What members cannot be faster than: NumPy's own running folds, and a deque whose every step can be foreseen."""
    found = []
    for kind in KINDS:
        (cells,), out = kind.cells(TILE), np.empty(TILE, kind.type)
        took = best(partial(kind.operation.ufunc.accumulate, cells, out=out), most=200)
        found.append({"limit": "accumulate", "kind": kind.name, "ns": 1e9 * took / TILE})
    for kind in KINDS[2:]:
        for limit, line in (("random", kind.cells(slides)), ("saw", (np.arange(slides, 0, -1).astype(kind.type) % 2,))):
            took = best(work_of("advance", MEMBERS["slick_deque"], kind, line, [4096]), most=9)
            found.append({"limit": f"slick_deque {limit}", "kind": kind.name, "ns": 1e9 * took / slides})
    return found


def worth_it(record: dict[str, Any]) -> bool:
    """Whether a record is in the charts: sequential members, and bulk ones by `slide`."""
    return record["member"] != "recalc" and record["via"] == ways(MEMBERS[record["member"]])[0]


def aimed_at(record: dict[str, Any]) -> bool:
    """Whether an aim is about a record."""
    return record["member"] in AIMS and record["window"] in AIM_WINDOWS and record["via"] == way_of(record["member"])


def slides_of(name: str, via: str, window: int, slides: int) -> int:
    """How many slides one call makes: fewer where a member is slow."""
    if name == "recalc":
        return min(slides, max(RECALC_WORK // window, 1 << 15)) // (8 if via == "advance" else 1)
    slow = via == "advance" and len(ways(MEMBERS[name])) > 1 and window <= INDEXED
    return min(slides, INDEXED) if slow else slides


if __name__ == "__main__":
    main()
