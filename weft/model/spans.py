"""Spans: stretches of time as sorted pairs that do not touch, each from its first moment to one past its last."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

Spans = tuple[tuple[int, int], ...]
# More than so many are joined over their smallest gaps: what is read between them is little.
MOST_SPANS = 64


def join_spans(spans: Iterable[tuple[int, int]]) -> Spans:
    """The same moments in as few spans as can be."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(span for span in spans if span[0] < span[1]):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)


def spans_over(moments: Iterable[int], most: int = MOST_SPANS) -> Spans:
    """At most so many spans that hold all moments; the smallest gaps are filled first."""
    found = join_spans((moment, moment + 1) for moment in set(moments))
    if len(found) <= most:
        return found
    gaps = sorted(range(1, len(found)), key=lambda i: found[i - 1][1] - found[i][0])
    heads = [0, *sorted(gaps[: most - 1]), len(found)]
    return tuple((found[low][0], found[high - 1][1]) for low, high in pairwise(heads))
