"""The values that travel the road: windows, queries, workloads, plans."""

from weft.model.query import Call, Output, Query
from weft.model.window import Window

__all__ = ["Call", "Output", "Query", "Window"]
