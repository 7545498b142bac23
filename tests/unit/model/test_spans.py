"""Spans of time: joined where they touch, and few of them over many moments."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from weft.model.spans import join_spans, spans_over

MOMENTS = st.lists(st.integers(-1000, 1000), max_size=40)


def moments(spans):
    return {moment for low, high in spans for moment in range(low, high)}


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), max_size=20))
def test_joined_spans_hold_the_same_moments_and_do_not_touch(spans):
    joined = join_spans(spans)
    assert moments(joined) == moments(spans)
    assert all(a[1] < b[0] for a, b in itertools.pairwise(joined))


@given(MOMENTS, st.integers(1, 8))
def test_few_spans_hold_all_moments_and_fill_the_smallest_gaps(found, most):
    spans = spans_over(found, most)
    assert set(found) <= moments(spans) and len(spans) <= most
    assert {edge for low, high in spans for edge in (low, high - 1)} <= set(found)
    gaps = sorted(b - a for a, b in zip(sorted(set(found)), sorted(set(found))[1:], strict=False))
    left = sorted(b[0] - a[1] + 1 for a, b in itertools.pairwise(spans))
    assert left == [gap for gap in gaps if gap > 1][-len(left):] if left else True
