"""Times before 1900, which are left to Spark: it has settings for calendars and zones of old."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from weft.final.project import NeedsSpark

MODERN = -2_208_988_800_000_000  # 1900-01-01 in microseconds
OLD_TIMES = "there are times before 1900"


def require_modern(array: pa.Array) -> None:
    """Raise NeedsSpark where an array has times before 1900."""
    if pa.types.is_struct(array.type):
        for child in array.flatten():
            require_modern(child)
    elif pa.types.is_temporal(array.type) and not pa.types.is_duration(array.type) and len(array):
        day = pc.min(array).cast(pa.timestamp("us")).value if pa.types.is_date32(array.type) else pc.min(array).value
        if day is not None and day < MODERN:
            raise NeedsSpark(OLD_TIMES)
