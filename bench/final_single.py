"""One range: slides per second by window (001 Fig. 11), latency of a slide (Fig. 14), and the aims against memcpy.

    python bench/final_single.py [--slides N] [--quick]

Windows are full before the clock starts. A member allocates its output itself in every call; memcpy (np.copyto of the
same array) is timed in turn with it. About four minutes.
"""

from __future__ import annotations

import sys
from typing import Any

from final_common import (
    KINDS,
    MEMBERS,
    Kind,
    arguments,
    best,
    copying,
    finish,
    results_for,
    settle_allocator,
    ways,
    work_of,
)
from final_latency import latency

WINDOWS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576)
QUICK = (16, 1024)
RECALC = 4096  # the longest window for which folding anew is worth waiting for
RECALC_WORK = 1 << 28  # combines a call


def main() -> None:
    """Measures every member that may fold each kind, then the latency of single slides."""
    options = arguments(__doc__, slides=(1 << 20, "slices on the line"))
    settle_allocator()
    windows = QUICK if options.quick else WINDOWS
    slides = min(options.slides, 1 << 16) if options.quick else options.slides
    results = results_for(options, slides=slides, windows=windows, recalc=RECALC)
    results["rates"] = [rate for kind in KINDS for window in windows for rate in rates(kind, window, slides)]
    results["latency"] = latency(options.quick)
    finish("final_single", results)


def rates(kind: Kind, window: int, slides: int) -> list[dict[str, Any]]:
    """Nanoseconds a slide of every member and of memcpy at one window."""
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
    """Nanoseconds a slide of one member, best of several, and of memcpy of the same array beside it."""
    if name == "recalc" and window > RECALC:
        return {"skipped": "takes too long"}
    count = min(slides, max(RECALC_WORK // window, 1 << 15)) if name == "recalc" else slides
    cells = kind.cells(count)
    member, copy = best([work_of(via, MEMBERS[name], kind, cells, [window]), copying(cells[0])])
    return {"slides": count, "ns": 1e9 * member / count, "memcpy_ns": 1e9 * copy / count}


if __name__ == "__main__":
    main()
