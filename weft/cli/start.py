"""Starting a session for a loom: Java takes seconds to start, in which Python reads what a loom needs."""

from __future__ import annotations

from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def start_session(name: str, **settings: str) -> SparkSession:
    """A local session with Spark settings; `weft.loom` is imported meanwhile."""
    # Spark takes a second to import: what needs no Spark must not wait for it.
    from weft.spark.session.session import local_session

    loading = Thread(target=import_module, args=("weft.loom",), name="weft imports", daemon=True)
    loading.start()
    try:
        return local_session(name, **settings)
    finally:
        loading.join()
