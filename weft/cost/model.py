"""What a plan costs: the papers' operations per second, or seconds as measured on Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from math import expm1
from typing import Any, Protocol

import numpy as np

from weft.cost.calibration_table import current_figures
from weft.cost.spark import SparkCosts
from weft.cost.techniques import TECHNIQUES, Members, Technique, larger
from weft.errors import PlanError
from weft.model.window import Window

# A function of the edge rate, of one tree or of many at once.
OfRate = Callable[[Any], Any]


@dataclass(frozen=True)
class Pricing:
    """The price of a plan per unit of event time: `once`, and for each tree base(E) + weight(E) · Ω."""

    once: float
    base: OfRate
    weight: OfRate
    technique: Technique

    def tree(self, members: Members, edge_rate: float) -> float:
        """One tree."""
        return float(self.base(edge_rate) + self.weight(edge_rate) * self.technique.omega(members, edge_rate))


class Model(Protocol):
    """Prices plans whose trees have partial stages of their own, or share one whose edge rate is `whole`."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def technique(self) -> Technique:
        """The final technique it uses."""

    def apart(self) -> Pricing:
        """Every tree reads the source itself (Weave Share)."""

    def together(self, whole: float) -> Pricing:
        """One partial stage cuts at all edges and passes its slices to every tree (TriWeave)."""

    def delivering(self, windows: Sequence[Window]) -> float:
        """What the answers of windows cost, one a query, in any plan."""

    def alone(self) -> Model:
        """The model of one query that shares its scan with no other."""


@dataclass(frozen=True)
class PaperModel:
    """Aggregate operations per unit of time: λ + E · Ω a tree (000 Eq. 1–3).

    With a shared partial stage, λ is paid once and each tree pays for the slices it takes: λ + Σ (E_all + E · Ω).
    """

    rate: float
    technique: Technique
    name: str = "paper"

    def __post_init__(self) -> None:
        if not self.rate > 0:
            raise PlanError(f"the input rate must be positive, not {self.rate}: give tuples per unit of time.")

    def apart(self) -> Pricing:
        """Every tree aggregates every tuple."""
        return Pricing(0.0, lambda e: self.rate + 0.0 * e, lambda e: e, self.technique)

    def together(self, whole: float) -> Pricing:
        """Tuples are aggregated once, the shared stage's slices once a tree."""
        return Pricing(self.rate, lambda e: whole + 0.0 * e, lambda e: e, self.technique)

    def delivering(self, windows: Sequence[Window]) -> float:
        """The papers do not count it."""
        return 0.0

    def alone(self) -> PaperModel:
        """The same."""
        return self


@dataclass(frozen=True)
class SparkModel:
    """Seconds on Spark per unit of event time, for `rate` rows of `keys` keys over a span of time.

    A tree pays for its scan, and for every slice once a projection (its way to Python) and once a slide (cells of that
    length are made of it). A key has no more slices than rows: edges without a row before them make none. What folding
    and delivering answers costs is the same in any plan. `components` and `predicates` are how many a scan of all
    queries has: each predicate has slices of its own, as if it let every row pass. `fine` is how often time is cut at
    least, for those that read the slices; `feed` how many slices of another grouping it reads instead of rows. `moved`
    is the share of rows that are shuffled before they are grouped, as dear as slices: all where they are numbered.
    """

    rate: float
    keys: float
    span: float
    components: int = 4
    predicates: int = 1
    fine: float = 0.0
    feed: float | None = None
    moved: float = 0.0
    costs: SparkCosts = field(default_factory=lambda: current_figures().spark)
    name: str = "spark"

    def __post_init__(self) -> None:
        if not (self.rate > 0 and self.keys > 0 and self.span > 0):
            raise PlanError("rows, keys and span must be positive: give them for the source, or run with its data.")

    @property
    def technique(self) -> Technique:
        """Nanoseconds per slice, instead of operations per edge."""
        return Technique("set kernels", self.per_slice, larger, True, "projections and slides per slice")

    def per_slice(self, members: Members, edge_rate: float) -> float:
        """What all projections and slides of a tree take for one slice."""
        return len(members.projections) * self.costs.hand_over + len(np.unique(members.slides)) * self.costs.cells

    def slices(self, edge_rate: Any) -> Any:
        """The slices of all keys that hold a row, for rows that come at random."""
        cells = self.keys * np.maximum(edge_rate, self.fine)
        return self.predicates * cells * -np.expm1(-self.rate / cells)

    def scan(self, edge_rate: Any) -> Any:
        """Reading, grouping and emitting slices."""
        read = self.rate if self.feed is None else self.feed
        rows = read * (self.costs.row + self.components * self.costs.component + self.moved * self.costs.emit)
        return (rows + self.slices(edge_rate) * self.costs.emit) * 1e-9 + self.costs.stage / self.span

    def taken(self, edge_rate: Any) -> Any:
        """Seconds for each nanosecond per slice, a stage's own time spread over as many slices as take that long."""
        return self.slices(edge_rate) * 1e-9 + self.costs.stage / self.span / self.costs.hand_over

    def apart(self) -> Pricing:
        """Every tree scans the source for its own edges."""
        return Pricing(0.0, self.scan, self.taken, self.technique)

    def together(self, whole: float) -> Pricing:
        """One scan for all edges; every tree takes all its slices."""
        taken = float(self.taken(whole))
        return Pricing(float(self.scan(whole)), lambda e: 0.0 * e, lambda e: taken + 0.0 * e, self.technique)

    def answers(self, windows: Sequence[Window]) -> float:
        """The answers of windows per unit of time: a window without a row has none."""
        each = self.rate / self.keys
        return sum(self.keys / w.slide * -expm1(-each * w.range) for w in windows)

    def delivering(self, windows: Sequence[Window]) -> float:
        """Folding and delivering what the windows answer."""
        return self.answers(windows) * self.costs.answer * 1e-9

    def alone(self) -> SparkModel:
        """With one predicate only, from the source and for itself."""
        return replace(self, predicates=1, fine=0.0, feed=None)


ONE_RANGE = ("two_stacks", "daba", "panes_inv")


def find_technique(name: str) -> Technique:
    """The technique of a name."""
    for technique in TECHNIQUES:
        if technique.name == name:
            return technique
    known = ", ".join(t.name for t in TECHNIQUES)
    if name in ONE_RANGE:
        raise PlanError(f"'{name}' serves one range, so queries cannot share it: choose one of {known}.")
    near = get_close_matches(name, [t.name for t in TECHNIQUES], 1)
    raise PlanError(f"there is no technique '{name}': " + (f"did you mean '{near[0]}'?" if near else f"use {known}."))
