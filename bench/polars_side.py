"""The same answers by Polars: what a user with one machine would write, and the fastest form found."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from math import gcd
from pathlib import Path

import polars as pl

from weft.model import Window


def slices(path: Path, length: int) -> pl.LazyFrame:
    """One row a symbol and slice of `length` microseconds: the components that every window is made of."""
    price, volume = pl.col("price"), pl.col("volume")
    slot = (pl.col("ts").dt.epoch("us") // length).alias("slot")
    parts = {"total": price.sum(), "high": price.max(), "volume": volume.sum(), "trades": pl.len().cast(pl.Int64)}
    return pl.scan_parquet(path / "*.parquet").group_by("symbol", slot).agg(**parts)


def coarser(found: pl.LazyFrame, times: int) -> pl.LazyFrame:
    """Slices `times` as long, made from shorter ones."""
    if times == 1:
        return found
    parts = (pl.col("total").sum(), pl.col("high").max(), pl.col("volume").sum(), pl.col("trades").sum())
    return found.group_by("symbol", pl.col("slot") // times).agg(*parts)


def dense(found: pl.DataFrame, longest: int) -> pl.DataFrame:
    """A row for every symbol and slot, in that order, and after each symbol's last trade room for the longest window.

    That room holds the windows that reach past the end. It also keeps a rolling sum that runs straight through
    the column from reaching into the symbol before, which makes `.over` unnecessary.
    """
    slots = pl.LazyFrame({"slot": pl.int_range(found["slot"].min(), found["slot"].max() + longest, eager=True)})
    keys = found.lazy().select(pl.col("symbol").unique().sort())
    grid = keys.join(slots, how="cross", maintain_order="left_right")
    filled = grid.join(found.lazy(), on=["symbol", "slot"], how="left", maintain_order="left")
    empty = {"total": 0.0, "high": float("-inf"), "volume": 0, "trades": 0}
    return filled.with_columns(pl.col(name).fill_null(value) for name, value in empty.items()).collect()


def answers(path: Path, windows: list[Window], over: bool) -> Iterator[tuple[Window, pl.DataFrame]]:
    """Every window's answers: rolling sums over the coarsest grid of slices that has the window's edges."""
    def length(window: Window) -> int:
        return gcd(window.range, window.slide)

    finest = gcd(*map(length, windows))
    scanned = slices(path, finest).collect()
    for size, group in groupby(sorted(windows, key=length), key=length):
        members = list(group)
        found = coarser(scanned.lazy(), size // finest).collect()
        grid = dense(found, max(window.range for window in members) // size).lazy()
        for window in members:
            yield window, rolled(grid, window, size, over).collect()


def rolled(grid: pl.LazyFrame, window: Window, size: int, over: bool) -> pl.LazyFrame:
    """One window's answers; `over` is the form the manual shows, without it the padded column is rolled in one go."""
    width, step = window.range // size, window.slide // size

    def roll(name: str, how: str) -> pl.Expr:
        rolling = getattr(pl.col(name), f"rolling_{how}")(width, min_samples=1)
        return rolling.over("symbol") if over else rolling

    trades = roll("trades", "sum")
    average = roll("total", "sum") / trades
    columns = {"average": average, "high": roll("high", "max"), "volume": roll("volume", "sum"), "trades": trades}
    at = ((pl.col("slot") + 1) * size).cast(pl.Datetime("us", "UTC")).alias("at")
    begins = (pl.col("slot") + 1 - width) % step == 0
    rows = grid.select("symbol", at, begins.alias("begins"), **columns)
    return rows.filter("begins", pl.col("trades") > 0).drop("begins")


def run(path: Path, windows: list[Window], over: bool = False) -> int:
    """Computes every window's answers, one frame after the other, and returns how many there were."""
    return sum(frame.height for _, frame in answers(path, windows, over))
