"""What the triggers of streams were measured to take, by scan: from it later plans say how short a trigger can be."""

from __future__ import annotations

from time import time

from weft.catalog.database import Catalog
from weft.cost.shedding.triggers import TriggerLoad


def keep_trigger_load(catalog: Catalog, scan: str, load: TriggerLoad) -> None:
    """Put down what the last triggers of a scan took."""
    catalog.change("INSERT OR REPLACE INTO trigger_loads VALUES (?, ?, ?, ?)", (scan, load.fixed, load.rows, time()))


def trigger_loads(catalog: Catalog) -> dict[str, TriggerLoad]:
    """What is known of each scan."""
    return {scan: TriggerLoad(fixed, rows) for scan, fixed, rows in
            catalog.rows("SELECT scan, fixed, rows FROM trigger_loads")}
