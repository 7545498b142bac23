"""The rows of the crash test: small files that come one after another, with all that makes a stream hard to answer."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = "ts timestamp, region string, user string, x double, n bigint"
# A second source, of every so manieth row under other names: what the first one is joined with.
SIDE, EVERY = "at timestamp, place string, who string, y double, m bigint", 50
# Rows are late by up to LATE seconds and the watermark waits longer, so that every row counts in a batch run too.
LATE, WATERMARK = 12.0, 20
ORIGIN = datetime(2024, 1, 1, tzinfo=UTC).timestamp()
# How far ahead the last row is: far enough to close every window that holds another one.
AHEAD = 3600.0
REGIONS, USERS = 2, 3
# How many rows files have: a flood at first, so that the plan derives the slices of regions from those of users.
FLOOD, FLOODED, ROWS = 4000, 4, 300


@dataclass
class Feed:
    """Writes files into a folder, and some of their rows into one beside it, each at once; `moment` is the event time
    that it has come to."""

    folder: Path
    seed: int
    written: int = 0
    moment: float = ORIGIN
    rows: int = 0
    side: Path | None = None

    def write(self, count: int) -> None:
        """Write so many more files."""
        for _ in range(count):
            rng = np.random.default_rng([self.seed, self.written])
            self.moment += step(rng)
            size = FLOOD if self.written < FLOODED else int(rng.choice([0, 1, ROWS], p=[0.05, 0.15, 0.8]))
            self.put(table_of(rng, size, self.moment, self.written // 4))

    def end(self) -> float:
        """Write the last file, whose only row closes the windows of all others; gives the watermark after it."""
        self.moment += AHEAD
        self.put(table_at([self.moment], ["r0"], ["last"], [1.0], [1]))
        return self.moment - WATERMARK

    def put(self, table: pa.Table) -> None:
        """Write a table under another name and rename it: a reader finds all of it or nothing."""
        beside = table.take(pa.array(range(0, len(table), EVERY), pa.int64()))
        beside = beside.rename_columns([part.split()[0] for part in SIDE.split(", ")])
        for folder, rows in ((self.side, beside), (self.folder, table)):
            if folder is None:
                continue
            hidden, final = (folder / f"{sign}{self.written:05d}.parquet" for sign in ("_", "f"))
            pq.write_table(rows, hidden)
            # Spark takes files by their time: seconds apart, they come in the order of writing.
            os.utime(hidden, (ORIGIN + self.written,) * 2)
            hidden.rename(final)
        self.written, self.rows = self.written + 1, self.rows + len(table)


def step(rng: np.random.Generator) -> float:
    """How far event time moves on with a file: a little, not at all, or now and then over a gap without any row."""
    return float(rng.choice([0.0, 2.0, 5.0, 5.0, 9.0, 75.0], p=[0.1, 0.2, 0.25, 0.25, 0.15, 0.05]))


def table_of(rng: np.random.Generator, size: int, moment: float, oldest: int) -> pa.Table:
    """The rows of a file: out of order, of users of whom the oldest falls silent by and by and others come."""
    times = moment - rng.choice([0.0, 1.0], size) * rng.uniform(0.0, LATE, size)
    regions = [f"r{i}" for i in rng.integers(0, REGIONS, size)]
    users = [f"u{oldest + i}" for i in rng.integers(0, USERS, size)]
    values = [None if number % 10 == 9 else x for number, x in enumerate(rng.normal(50, 20, size).tolist())]
    return table_at(times.tolist(), regions, users, values, rng.integers(-100, 100, size).tolist())


def table_at(times: list[float], regions: list[str], users: list[str], values: list, numbers: list[int]) -> pa.Table:
    """Rows as the columns of SCHEMA."""
    moments = pa.array([round(t * 1000) * 1000 for t in times], pa.int64()).cast(pa.timestamp("us", "UTC"))
    columns = [moments, pa.array(regions, pa.string()), pa.array(users, pa.string()), pa.array(values, pa.float64()),
               pa.array(numbers, pa.int64())]
    return pa.table(columns, names=[part.split()[0] for part in SCHEMA.split(", ")])
