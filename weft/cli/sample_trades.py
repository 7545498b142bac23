"""Made-up trades, the same for the same parameters, written straight to Parquet without Spark."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

VERSION = 1  # raise it when the same parameters come to mean other rows, so that kept files are made anew
MARKER = "_trades.json"
FIRST = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
FIRST_MICROS = int(FIRST.timestamp()) * 1_000_000
HOUR = 3_600_000_000
EXCHANGES = np.array([0.28, 0.20, 0.16, 0.12, 0.09, 0.07, 0.05, 0.03])
SCHEMA = pa.schema([
    ("ts", pa.timestamp("us", tz="UTC")),
    ("symbol", pa.string()),
    ("price", pa.float64()),
    ("volume", pa.int64()),
    ("exchange", pa.int32()),
])


@dataclass(frozen=True)
class Trades:
    """What decides every row: size, keys, length, seed, and whether symbols and hours are uneven as in a market."""

    rows: int = 2_000_000
    keys: int = 1000
    hours: int = 10
    seed: int = 7
    market: bool = True

    def __post_init__(self) -> None:
        if min(self.rows, self.keys, self.hours) < 1:
            raise ValueError("rows, keys and hours must be at least 1")
        if self.keys > 26**4:
            raise ValueError(f"at most {26**4} keys have a name")


def symbols(count: int) -> np.ndarray:
    """The first `count` made-up tickers: three letters each, or four if there are many, all different, scattered."""
    size = 3 if count <= 26**3 else 4
    numbers = np.arange(count) * 7919 + 4242  # 7919 and 26 have no common divisor: no number comes twice
    letters = [(numbers // 26**place % 26).astype("u1") + ord("A") for place in reversed(range(size))]
    return np.stack(letters, axis=1).view(f"S{size}").ravel().astype(str)


def table(trades: Trades) -> pa.Table:
    """All rows in order of time."""
    rng = np.random.default_rng(trades.seed)
    ts = _times(trades, rng)
    code = _codes(trades, rng)
    price = _prices(trades, rng, ts, code)
    volume = _volumes(trades, rng, code)
    exchange = rng.choice(8, trades.rows, p=EXCHANGES) + 1 if trades.market else rng.integers(1, 9, trades.rows)
    symbol = pa.DictionaryArray.from_arrays(pa.array(code), pa.array(symbols(trades.keys))).cast(pa.string())
    return pa.table([pa.array(ts, SCHEMA[0].type), symbol, price, volume, exchange.astype("i4")], schema=SCHEMA)


def _times(trades: Trades, rng: np.random.Generator) -> np.ndarray:
    """Event times in microseconds; a market is busiest when it opens and when it closes."""
    moment = rng.random(trades.rows)
    if trades.market:
        grid = np.linspace(0, 1, 1001)
        share = np.cumsum(0.6 + 3.2 * (grid - 0.5) ** 2)
        moment = np.interp(moment, (share - share[0]) / (share[-1] - share[0]), grid)
    micros, place = np.sort((moment * trades.hours * HOUR).astype("i8")), np.arange(trades.rows)
    return FIRST_MICROS + np.maximum.accumulate(micros - place) + place  # no two alike, so first and last are clear


def _codes(trades: Trades, rng: np.random.Generator) -> np.ndarray:
    """Which symbol each row trades: Zipf's law in a market, else all alike."""
    if not trades.market:
        return rng.integers(0, trades.keys, trades.rows).astype("i4")
    weight = 1 / (np.arange(trades.keys) + 12.0)
    return rng.choice(trades.keys, trades.rows, p=weight / weight.sum()).astype("i4")


def _prices(trades: Trades, rng: np.random.Generator, ts: np.ndarray, code: np.ndarray) -> np.ndarray:
    """A random walk in log price for each symbol, scaled by the time passed, with rare jumps; in cents."""
    order = np.argsort(code, kind="stable")
    key, when = code[order], ts[order]
    first = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
    passed = np.diff(when, prepend=when[:1]) / HOUR
    passed[first] = 0
    hourly = rng.uniform(0.003, 0.015, trades.keys)  # the volatility of one hour
    step = rng.standard_normal(len(key)) * hourly[key] * np.sqrt(passed)
    step += (rng.random(len(key)) < 0.006 * passed) * rng.choice([-0.04, 0.04], len(key))  # news, once a week or so
    tick = rng.standard_normal(len(key)) * 3e-4  # buyers pay a little more than sellers get
    walk = np.cumsum(step)
    walk -= np.repeat(walk[first], np.diff(np.r_[first, len(key)]))
    base = np.exp(rng.normal(4.0, 0.9, trades.keys))
    price = np.empty(len(key))
    price[order] = np.maximum(np.round(base[key] * np.exp(walk + tick), 2), 0.01)
    return price


def _volumes(trades: Trades, rng: np.random.Generator, code: np.ndarray) -> np.ndarray:
    """Heavy-tailed sizes, half of them in round lots of a hundred."""
    typical = rng.lognormal(4.6, 0.4, trades.keys)
    size = typical[code] * (rng.pareto(1.35, len(code)) + 0.1)
    lot = np.where(rng.random(len(code)) < 0.5, 100, 1)
    return np.clip(np.ceil(size / lot) * lot, 1, 5_000_000).astype("i8")


def make(path: str | Path, trades: Trades = Trades(), files: int = 8) -> Path:
    """The folder of Parquet files holding these trades: kept if it is already there, else made in one step."""
    path = Path(path)
    if not is_made(path, trades):
        if path.exists() and not (path / MARKER).exists():
            raise FileExistsError(f"{path} is there and holds no made-up trades; name another folder or remove it")
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        try:
            _write(temporary / "new", trades, files)
            if path.exists():
                os.rename(path, temporary / "old")
            os.rename(temporary / "new", path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return path


def is_made(path: Path, trades: Trades) -> bool:
    """Whether the folder already holds exactly these trades."""
    try:
        return json.loads((path / MARKER).read_text()) == {"version": VERSION, **asdict(trades)}
    except (OSError, ValueError):
        return False


def _write(folder: Path, trades: Trades, files: int) -> None:
    """One file a stretch of time, then the marker that says what they hold."""
    folder.mkdir()
    rows = table(trades)
    edges = np.linspace(0, trades.rows, min(files, trades.rows) + 1).astype(int)
    for number, (start, stop) in enumerate(pairwise(edges)):
        pq.write_table(rows.slice(start, stop - start), folder / f"part-{number:03}.parquet", compression="snappy")
    (folder / MARKER).write_text(json.dumps({"version": VERSION, **asdict(trades)}))
