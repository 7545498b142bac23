"""What Java raises through Py4J, as types that are there for a Spark Connect client too, which may have no Py4J, and
what its texts say."""

from __future__ import annotations

import re

try:
    from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
except ImportError:

    class Py4JError(Exception):  # type: ignore[no-redef]
        """Never raised: there is no Java in this process."""

    class Py4JJavaError(Py4JError):  # type: ignore[no-redef]
        """Never raised: there is no Java in this process."""

    class Py4JNetworkError(Py4JError):  # type: ignore[no-redef]
        """Never raised: there is no Java in this process."""


def is_java_gone(error: BaseException | None) -> bool:
    """Whether an error says that Java's process does not answer any more: nothing can run again in this one."""
    while error is not None:
        if isinstance(error, Py4JNetworkError | ConnectionError):
            return True
        error = error.__cause__ or error.__context__
    return False


def spark_reason(error: Exception) -> str:
    """The line of an error's text that says most: the last cause where Java lists them, else the first line."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    causes = [line.split(": ", 2)[-1] for line in lines if line.startswith("Caused by: ")]
    return with_file(str(error), causes[-1] if causes else lines[0])


def with_file(text: str, cause: str) -> str:
    """The cause of an error with the file that Spark was reading, which the innermost cause often leaves out."""
    found = re.search(r"error while reading file (\S+?)\.?\s", text)
    return cause if found is None or found[1] in cause else f"cannot read {found[1]}: {cause}"


__all__ = ["Py4JError", "Py4JJavaError", "is_java_gone", "spark_reason", "with_file"]
