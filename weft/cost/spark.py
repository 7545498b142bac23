"""What Spark takes: the figures of the measured model, and how they are found from a few timed runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import isfinite
from typing import Any

import numpy as np

NANO = 1e-9
ROUNDS = 3000  # of the descent: the figures have settled long before
PULL = 0.02


@dataclass(frozen=True)
class SparkCosts:
    """Nanoseconds on Spark: per row of a scan, and more for each of its components; per slice that a scan emits, that
    goes to Python for a projection, that becomes cells of one slide; per answer folded and delivered. And seconds that
    a stage takes however little it does."""

    row: float = 450.0
    component: float = 30.0
    emit: float = 350.0
    hand_over: float = 900.0
    cells: float = 120.0
    answer: float = 100.0
    stage: float = 0.3

    def to_dict(self) -> dict[str, float]:
        """The figures as plain values."""
        return asdict(self)


def read_costs(data: Mapping[str, Any]) -> SparkCosts:
    """The figures of plain values; raises ValueError for what no figure can be."""
    found = {field.name: float(data[field.name]) for field in fields(SparkCosts)}
    if bad := [name for name, value in found.items() if not (isfinite(value) and value > 0)]:
        raise ValueError(f"{', '.join(bad)} of Spark must be positive")
    return SparkCosts(**found)


@dataclass(frozen=True)
class SparkRun:
    """A run on Spark: how often it did each thing that has a figure, and the seconds it took."""

    rows: float
    row_components: float
    emitted: float
    handed_over: float
    cells: float
    answers: float
    stages: float
    seconds: float = 0.0

    @property
    def counts(self) -> tuple[float, ...]:
        """How often each figure of `SparkCosts` was paid, in its unit."""
        times = (self.rows, self.row_components, self.emitted, self.handed_over, self.cells, self.answers)
        return (*(n * NANO for n in times), self.stages)


def fit_costs(runs: Sequence[SparkRun], near: SparkCosts) -> SparkCosts:
    """The figures that explain the runs best, none below a hundredth of what they were; `near` decides what the runs
    leave open.

    Least squares of relative errors by coordinate descent; each figure pulls towards its start, as much as a run
    that is a fiftieth as telling.
    """
    start = np.array([getattr(near, f.name) for f in fields(SparkCosts)])
    seconds = np.array([run.seconds for run in runs])
    shares = np.array([run.counts for run in runs]) * start / seconds[:, None]
    scale = fit_scales(shares)
    return SparkCosts(**{f.name: float(f"{value:.4g}") for f, value in zip(fields(SparkCosts), start * scale,
                                                                          strict=True)})


def fit_scales(shares: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """By how much each figure must grow so that its shares of each run, a row, come to one; none below a hundredth."""
    weights = np.ones(len(shares)) if weights is None else weights
    design = np.concatenate((shares * weights[:, None], PULL * np.eye(shares.shape[1])))
    target = np.concatenate((weights, np.full(shares.shape[1], PULL)))
    scale = np.ones(shares.shape[1])
    for i in list(range(shares.shape[1])) * ROUNDS:
        column = design[:, i]
        rest = target - design @ scale + column * scale[i]
        scale[i] = max(column @ rest / (column @ column), 0.01)
    return scale
