"""Rows of a source to slices in a worker: rows in as Arrow batches, packed slices of every grouping out, by bucket.

One pass over the rows serves all scans of a source. Runs in a Spark worker, without Spark.
"""

from weft.final.cut.groupings import GroupingCut
from weft.final.cut.rows import ComputedColumns, RowColumns, RowCut, RowCutter

__all__ = ["ComputedColumns", "GroupingCut", "RowColumns", "RowCut", "RowCutter"]
