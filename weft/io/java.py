"""What Java raises through Py4J, as types that are there for a Spark Connect client too, which may have no Py4J."""

from __future__ import annotations

try:
    from py4j.protocol import Py4JError, Py4JJavaError
except ImportError:

    class Py4JError(Exception):  # type: ignore[no-redef]
        """Never raised: there is no Java in this process."""

    class Py4JJavaError(Py4JError):  # type: ignore[no-redef]
        """Never raised: there is no Java in this process."""


__all__ = ["Py4JError", "Py4JJavaError"]
