"""Who makes the slices of a source's rows: Spark, with a scan for each grouping, or workers, with one pass for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NANO = 1e-9


@dataclass(frozen=True)
class CutCosts:
    """Processor time, fitted by eye to the demo's six scans, the mixed queries and single scans (decision 0033).

    Nanoseconds of Spark: per row and scan, more for each column of its slices, and for each slice that is sent to
    workers; seconds for the generated code of a scan, which is compiled when it first runs. Nanoseconds of workers: per
    row and for each of its columns that is sent to them, for each that they read themselves, per row and scan, for each
    column, for each slice. Of a stream whose slices Spark makes: nanoseconds for each slice that it keeps in a state
    store of its own, and seconds that this store takes in each trigger (docs/benchmarks/streaming.md).
    """

    row: float = 300.0
    column: float = 35.0
    slice: float = 1250.0
    compiled: float = 1.0
    sent_row: float = 250.0
    sent_column: float = 110.0
    read_column: float = 20.0
    cut_row: float = 60.0
    cut_column: float = 12.0
    cut_slice: float = 300.0
    kept_slice: float = 20_000.0
    kept_trigger: float = 0.3


@dataclass(frozen=True)
class CutScan:
    """A scan of a source: its rows, the columns of its slices, and how many slices it makes."""

    rows: float
    columns: int
    slices: float


COSTS = CutCosts()


def spark_seconds(scans: Sequence[CutScan], costs: CutCosts = COSTS) -> float:
    """Processor seconds where Spark makes the slices of each scan and sends them to workers."""
    return sum(costs.compiled + NANO * (scan.rows * (costs.row + costs.column * scan.columns)
                                        + scan.slices * costs.slice) for scan in scans)


def sent_seconds(scans: Sequence[CutScan], columns: int, costs: CutCosts = COSTS) -> float:
    """Processor seconds until workers have all rows, with so many columns, where Spark sends them."""
    return NANO * most_rows(scans) * (costs.sent_row + costs.sent_column * columns)


def read_seconds(scans: Sequence[CutScan], columns: int, costs: CutCosts = COSTS) -> float:
    """The same where workers read the files themselves."""
    return NANO * most_rows(scans) * costs.read_column * columns


def cut_seconds(scans: Sequence[CutScan], costs: CutCosts = COSTS) -> float:
    """Processor seconds that workers take to cut rows that they have, for every scan."""
    return NANO * sum(scan.rows * (costs.cut_row + costs.cut_column * scan.columns) + scan.slices * costs.cut_slice
                      for scan in scans)


def stream_in_workers(scan: CutScan, columns: int, costs: CutCosts = COSTS) -> bool:
    """Whether it costs less that workers cut the rows of a stream's trigger, which come with so many columns, than that
    Spark aggregates them and keeps slices itself."""
    spark = NANO * (scan.rows * (costs.row + costs.column * scan.columns) + scan.slices * costs.kept_slice)
    return sent_seconds([scan], columns, costs) + cut_seconds([scan], costs) <= spark + costs.kept_trigger


def most_rows(scans: Sequence[CutScan]) -> float:
    """The rows of a source, which are those of the scan that has most of them."""
    return max(scan.rows for scan in scans)
