"""Made-up tables like those of ARGUS (002 §4): FedWire transfers and hospital admissions, and queries over them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import RESULTS

VERSION = 1  # raise it when the same sizes come to mean other rows
FIRST = int(datetime(2025, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
DAY = 86_400_000_000
FILES = 8


@dataclass(frozen=True)
class Stream:
    """A table whose rows come in the order of time, its sizes in the paper (Table 3), and its queries (Table 4)."""

    name: str
    history: int
    increment: int
    queries: int
    days: int
    columns: Callable[[np.random.Generator, int], dict[str, np.ndarray]]
    keys: tuple[str, ...]
    predicates: tuple[str, ...]
    calls: tuple[str, ...]
    paper: float

    def table(self, start: int, rows: int, whole: int) -> pa.Table:
        """Rows from `start` on of a stream whose history has `whole` rows in its days."""
        random = np.random.default_rng((start, rows, whole))
        times = FIRST + (start + np.sort(random.random(rows)) * rows) / whole * self.days * DAY
        return pa.table({"ts": pa.array(times.astype("i8"), pa.timestamp("us", tz="UTC")),
                         **self.columns(random, rows)})

    def asked(self, count: int) -> dict[str, str]:
        """So many queries by name, varied from few seeds: keys, predicate, window and call."""
        every = list(product(self.predicates, self.calls, self.keys, WINDOWS))
        picked = [every[i * len(every) // count] for i in range(count)]
        return {f"q{i}": query(self.name, *parts) for i, parts in enumerate(picked)}


# Days of range and slide.
WINDOWS = ((7, 7), (30, 30), (28, 7), (90, 30), (14, 7))


def query(source: str, where: str, call: str, keys: str, window: tuple[int, int]) -> str:
    """One query of a product of parts."""
    spans = ", ".join(f"'{days} days'" for days in window)
    only, by = f"WHERE {where} " if where else "", f"{keys}, " if keys else ""
    return f"SELECT {by}window.end AS at, {call} FROM {source} {only}GROUP BY {by}window(ts, {spans})"


def transfers(random: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    """Money transfers among 10,000 banks; each sends to ten others, so that 300,000 rows have some 95,000 pairs."""
    sender, other = random.integers(0, 10_000, rows), random.integers(0, 10, rows)
    return {"sender": sender, "receiver": (sender * 7 + other * 31 + 1) % 10_000, "kind": random.integers(0, 10, rows),
            "branch": sender // 250, "amount": np.round(random.lognormal(9, 1.5, rows), 2)}


def admissions(random: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    """Patients of 80 hospitals with one of 1000 diseases, which fall into 25 categories."""
    disease = random.integers(0, 1000, rows)
    return {"disease": disease, "category": disease // 40, "hospital": random.integers(0, 80, rows),
            "age": random.integers(0, 100, rows), "fee": np.round(random.lognormal(7, 1, rows), 2)}


FED = Stream(
    "fed", 300_000, 4_000, 350, 365, transfers, ("kind", "branch", "branch, kind", ""),
    ("", "amount > 1000", "amount > 100000", "kind = 3", "sender = 77", "sender = 4711 AND amount > 1000",
     "receiver = 99", "amount > 1e12", "kind = 11", "sender < 0", "branch = 7", "amount < 0"),
    ("count(*) AS n, avg(amount) AS mean", "sum(amount) AS total", "max(amount) AS most, count(*) AS n",
     "stddev(amount) AS spread"), paper=6236 / 662)
MED = Stream(
    "med", 600_000, 4_000, 450, 730, admissions, ("hospital", "category", "category, hospital", "disease"),
    ("", "age >= 65", "age < 1", "fee > 5000", "disease = 17", "disease = 333 AND age > 70", "hospital = 8",
     "age > 150", "fee < 0", "disease = 4000", "hospital = 99", "category = 3"),
    ("count(*) AS visits, avg(fee) AS mean", "sum(fee) AS total", "max(fee) AS most, count(*) AS visits",
     "stddev(fee) AS spread"), paper=938 / 316)
STREAMS = (FED, MED)
# A finer and a coarser grouping each (Table 5): 95,000 and 10,000 groups of 300,000 rows.
PAIRS = {
    "pair 1": ("sender, receiver", "sender"),
    "pair 2": ("sender, kind", "sender"),
}


class Folder:
    """A stream's files: history in several, then one for each increment; and a store beside them."""

    def __init__(self, stream: Stream, times: int, path: Path):
        self.stream, self.rows, self.whole = stream, stream.history * times, stream.history * times
        self.data, self.store = path / "data", path / "store"
        shutil.rmtree(path, ignore_errors=True)
        self.data.mkdir(parents=True)
        for file in sorted(history(stream, times).iterdir()):
            (self.data / file.name).hardlink_to(file)

    def grow(self, rows: int) -> None:
        """One more file of rows that follow all others in time."""
        pq.write_table(self.stream.table(self.rows, rows, self.whole), self.data / f"new-{self.rows:012}.parquet")
        self.rows += rows


def history(stream: Stream, times: int) -> Path:
    """The history of a stream, so many times as long as in the paper; made once and kept."""
    path = RESULTS / "tmp" / f"argus-{stream.name}-{times}-v{VERSION}"
    if not path.exists():
        made, rows = path.with_suffix(".new"), stream.history * times
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        for number in range(FILES):
            part = stream.table(rows * number // FILES, rows // FILES, rows)
            pq.write_table(part, made / f"part-{number}.parquet")
        made.rename(path)
    return path
