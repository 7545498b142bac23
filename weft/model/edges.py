"""Edges: where the slices of a set of windows begin and end, exact and as few as the windows allow (Pairs)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from random import Random

from weft.model.window import Window

Progression = tuple[int, int]  # (phase, period): every time ≡ phase modulo period


def edges_of(window: Window) -> tuple[Progression, ...]:
    """A window's edges: where its windows begin, and where they end if that is elsewhere."""
    begin = window.phase
    end = (window.start + window.range) % window.slide
    return ((begin, window.slide),) if begin == end else ((begin, window.slide), (end, window.slide))


def within(inner: Progression, outer: Progression) -> bool:
    """Whether every point of `inner` is one of `outer`."""
    return inner[1] % outer[1] == 0 and inner[0] % outer[1] == outer[0]


def progressions(windows: Iterable[Window]) -> tuple[Progression, ...]:
    """The edges of all windows, without those that others contain."""
    return without_contained(edge for window in windows for edge in edges_of(window))


def without_contained(edges: Iterable[Progression]) -> tuple[Progression, ...]:
    """The progressions of which no other holds every point, the densest first."""
    kept: list[Progression] = []
    for edge in sorted(set(edges), key=lambda e: (e[1], e[0])):
        if not any(within(edge, other) for other in kept):
            kept.append(edge)
    return tuple(kept)


def composite_slide(windows: Iterable[Window]) -> int:
    """The period after which the edges of all windows repeat (000 §3.3)."""
    return lcm(*(window.slide for window in windows))


@dataclass(frozen=True)
class Density:
    """How many edges fall into a unit of time; `error` bounds a sampled one (three standard errors), else it is 0."""

    value: Fraction
    error: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether it was counted, not sampled."""
        return self.error == 0.0


def intersection(a: Progression, b: Progression) -> Progression | None:
    """The points that two progressions share, again a progression (Chinese remainders), or None."""
    (phase, period), (other, every) = a, b
    common = gcd(period, every)
    if (other - phase) % common:
        return None
    whole = period // common * every
    steps = (other - phase) // common * pow(period // common, -1, every // common) % (every // common)
    return (phase + period * steps) % whole, whole


def signed_terms(edges: Iterable[Progression], limit: int) -> dict[Progression, int] | None:
    """Formula F1 (001 Eq. 2) for fragments: a signed sum of intersections whose densities add up to the union's.

    Equal intersections merge, and what cancels out drops, so the sum stays small where slides share factors. None
    where it grows beyond `limit` terms.
    """
    terms: dict[Progression, int] = {}
    for edge in edges:
        added = {edge: 1}
        for term, sign in terms.items():
            shared = intersection(term, edge)
            if shared is not None:
                added[shared] = added.get(shared, 0) - sign
        for term, sign in added.items():
            terms[term] = terms.get(term, 0) + sign
            if not terms[term]:
                del terms[term]
        if len(terms) > limit:
            return None
    return terms


def sampled_density(edges: Sequence[Progression], samples: int, seed: int = 0) -> Density:
    """The union's density from random edges: each counts by how many progressions hold it (Karp and Luby).

    A progression is drawn by its density, a point of it at random; the mean of 1 / (progressions that hold the point)
    times the sum of densities is the union's.
    """
    random = Random(seed)
    weights = [1 / period for _, period in edges]
    drawn = random.choices(range(len(edges)), weights, k=samples)
    # A point far out, so that every residue is as likely as any other: no common period is needed.
    shares = [1 / held_by(edges, edges[i][0] + edges[i][1] * random.getrandbits(128)) for i in drawn]
    mean = sum(shares) / samples
    spread = (sum((s - mean) ** 2 for s in shares) / max(samples - 1, 1) / samples) ** 0.5
    total = sum(Fraction(1, period) for _, period in edges)
    value = total * Fraction(mean).limit_denominator(10**9)
    return Density(value, max(3 * spread * float(total), float(value) * 1e-12))


def held_by(edges: Sequence[Progression], point: int) -> int:
    """How many progressions hold a point."""
    return sum((point - phase) % period == 0 for phase, period in edges)


def edge_density(edges: Sequence[Progression], limit: int = 4096, samples: int = 4000) -> Density:
    """Edges per unit of time: exact where that is affordable, else sampled with its error."""
    terms = signed_terms(edges, limit)
    if terms is None:
        return sampled_density(edges, samples)
    return Density(sum((Fraction(sign, period) for (_, period), sign in terms.items()), Fraction(0)))


def edge_rate(windows: Iterable[Window], limit: int = 4096) -> Density:
    """The edge rate E of windows that share a tree (000 §4.1)."""
    return edge_density(progressions(windows), limit)


def count_edges(windows: Iterable[Window], limit: int = 4096) -> int | None:
    """How many edges fall into one composite slide, by F1; None where only a sample is affordable."""
    listed = tuple(windows)
    density = edge_rate(listed, limit)
    return int(density.value * composite_slide(listed)) if density.exact else None


def count_edges_bitset(windows: Iterable[Window]) -> int:
    """The same by marking every edge of the composite slide (000 §8): the oracle."""
    listed = tuple(windows)
    period = composite_slide(listed)
    return len({point for phase, every in progressions(listed) for point in range(phase, period, every)})


def count_edges_probing(windows: Iterable[Window]) -> int:
    """The same by the paper's probing: each query's edges are divided by the slides before it (000 §8, Example 4)."""
    listed = tuple(windows)
    period, count = composite_slide(listed), 0
    for i, window in enumerate(listed):
        before = [edge for other in listed[:i] for edge in edges_of(other)]
        for phase, every in edges_of(window):
            count += sum(not held_by(before, point) for point in range(phase, period, every))
    return count


def common_edges(a: Iterable[Window], b: Iterable[Window]) -> Fraction:
    """Edges per unit of time that two sets of windows have in common."""
    one, other = tuple(a), tuple(b)
    return edge_rate(one).value + edge_rate(other).value - edge_rate((*one, *other)).value


def weaveability(a: Iterable[Window], b: Iterable[Window]) -> Fraction:
    """Common edges by all edges of the composite slide (000 Def. 1, Eq. 4)."""
    one, other = tuple(a), tuple(b)
    return common_edges(one, other) / edge_rate((*one, *other)).value
