"""The report's figures: which answers each shows, read from the Parquet that the run wrote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds

from examples.demo.charts import Candle, Series, band_chart, candle_chart, line_chart, side_bars, stacked_bars
from examples.demo.svg import clock


@dataclass(frozen=True)
class Answers:
    """The folder a run wrote, the symbol to look at and the moment of the last trade."""

    folder: Path
    symbol: str
    last: float

    def read(self, query: str, **only: Any) -> dict[str, list[Any]]:
        """A query's columns in order of time, up to the last trade; `at` in seconds."""
        test = pc.scalar(True)
        for column, value in only.items():
            test = test & (pc.field(column) == value)
        table = ds.dataset(self.folder / query, format="parquet").to_table(filter=test).sort_by("at")
        columns = {name: table[name].to_pylist() for name in table.column_names if name != "at"}
        at = [moment.timestamp() for moment in table["at"].to_pylist()]
        kept = [place for place, moment in enumerate(at) if moment <= self.last + 60]
        return {"at": [at[i] for i in kept], **{name: [values[i] for i in kept] for name, values in columns.items()}}

    def series(self, query: str, column: str, name: str) -> Series:
        """One column of a query for the symbol, as a line."""
        rows = self.read(query, symbol=self.symbol)
        points = [(at, value) for at, value in zip(rows["at"], rows[column], strict=True) if value is not None]
        return Series(name, [at for at, _ in points], [value for _, value in points])


@dataclass(frozen=True)
class Figure:
    """A chart with its heading, what it shows, and the queries it reads."""

    title: str
    words: str
    queries: tuple[str, ...]
    draw: Callable[[Answers], str]


def moving_averages(answers: Answers) -> str:
    """The price each minute and three averages that follow it ever more slowly."""
    lines = [answers.series("candles_1m", "close", "price")]
    lines += [answers.series(f"moving_average_{m}m", "average", f"{m} min") for m in (15, 60, 240)]
    return line_chart("moving averages", lines)


def candles(answers: Answers) -> str:
    """A candle for each quarter of an hour."""
    rows = answers.read("candles_15m", symbol=answers.symbol)
    columns = (rows[name] for name in ("at", "open", "high", "low", "close"))
    return candle_chart("candles", [Candle(*values) for values in zip(*columns, strict=True)])


def bands(answers: Answers) -> str:
    """The price of the last three hours within its Bollinger bands."""
    late = answers.last - 3 * 3600

    def recent(query: str, column: str, name: str) -> Series:
        line = answers.series(query, column, name)
        points = [(x, y) for x, y in zip(line.times, line.values, strict=True) if x >= late]
        return Series(name, [x for x, _ in points], [y for _, y in points])

    lower, upper = (recent("bollinger_20m", side, f"{side} band") for side in ("lower", "upper"))
    lines = [recent("candles_1m", "close", "price"), recent("bollinger_20m", "middle", "20 min average")]
    return band_chart("Bollinger bands", "2 standard deviations", (lower, upper), lines)


def volatility(answers: Answers) -> str:
    """The standard deviation over three ranges, in percent of the price."""
    lines = [answers.series(f"volatility_{m}m", "volatility", f"{m} min") for m in (15, 60, 240)]
    return line_chart("volatility", lines, unit=" %", digits=3)


def exchanges(answers: Answers) -> str:
    """Turnover in each quarter of an hour, the exchanges on top of one another."""
    rows = answers.read("exchange_turnover_15m")
    amounts = dict(zip(zip(rows["at"], rows["exchange"], strict=True), rows["turnover"], strict=True))
    times, numbers = sorted(set(rows["at"])), sorted(set(rows["exchange"]))
    layers = [Series(str(each), times, [amounts.get((at, each), 0.0) for at in times]) for each in numbers]
    return stacked_bars("turnover by exchange", times, layers)


def spikes(answers: Answers) -> str:
    """The widest five minutes of the day, one a symbol."""
    rows = answers.read("price_spikes_5m")
    found: dict[str, tuple[float, float]] = {}
    for at, symbol, low, high in zip(rows["at"], rows["symbol"], rows["low"], rows["high"], strict=True):
        found[symbol] = max(found.get(symbol, (0.0, 0.0)), (100 * (high / low - 1), at))
    widest = sorted(((wide, at, symbol) for symbol, (wide, at) in found.items()), reverse=True)[:8]
    bars = [(f"{symbol} {clock(at)}", wide, f"{wide:.2f} %") for wide, at, symbol in widest]
    return side_bars("price spikes", bars)


FIGURES = (
    Figure("Price and moving averages", "Last price of each minute, and its averages over 15, 60 and 240 minutes.",
           ("candles_1m", "moving_average_15m", "moving_average_60m", "moving_average_240m"), moving_averages),
    Figure("Candles", "Open, high, low and close of each 15 minutes; hollow where the price rose.",
           ("candles_15m",), candles),
    Figure("Bollinger bands", "The last three hours within two standard deviations of the 20 minute average.",
           ("candles_1m", "bollinger_20m"), bands),
    Figure("Volatility", "Standard deviation of the price over 15, 60 and 240 minutes, in percent of its mean.",
           ("volatility_15m", "volatility_60m", "volatility_240m"), volatility),
    Figure("Turnover by exchange", "Price times volume in each 15 minutes, for exchanges 1 to 8.",
           ("exchange_turnover_15m",), exchanges),
    Figure("Price spikes", "The widest five minutes between low and high, as HAVING found them; one a symbol.",
           ("price_spikes_5m",), spikes),
)
