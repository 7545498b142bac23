"""Weft as one zip, for clusters whose Python workers have no Weft installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZipFile, ZipInfo

from weft.spark.session import by_value as carry

# The first moment a zip can name, and no compression: equal packages give equal zips, whatever the day or the zlib.
EPOCH = (1980, 1, 1, 0, 0, 0)
UNIX, READABLE = 3, 0o644 << 16


def ship_by_value(module: ModuleType) -> None:
    """Lets Spark send a module's classes to workers whole, for they cannot import it."""
    from pyspark.cloudpickle import register_pickle_by_value

    register_pickle_by_value(module)


def package_zip(path: str | PathLike[str] = "weft.zip") -> str:
    """Writes the package as a zip and gives the zip's path, as text because Spark takes nothing else.

    >>> spark.addArtifacts(package_zip("weft.zip"), pyfile=True)
    """
    # All is read before the zip is opened: Weft may be running from the very zip that is written.
    held = list(contents(files("weft"), "weft/"))
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w") as archive:
        for name, data in held:
            archive.writestr(entry(name), data)
    return str(path)


def pickled(function: Callable[..., Any]) -> bytes:
    """The function as bytes, as Spark itself would send it."""
    from pyspark import cloudpickle

    return cloudpickle.dumps(function)


def carried(function: Callable[..., Any]) -> carry.Carried:
    """The function with all of Weft, for a Python process that gets none of the files shipped to executors."""
    ship_by_value(carry)
    return carry.Carried("weft", sources(), pickled(function))


@cache
def sources() -> bytes:
    """The sources of Weft, compressed."""
    found = contents(files("weft"), "weft/")
    return carry.compressed({name: data.decode() for name, data in found if name.endswith(".py")})


def contents(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    """Every file of the package, sources and data: its name in the zip and its bytes, in order."""
    for item in sorted(folder.iterdir(), key=lambda found: found.name):
        if is_litter(item.name):
            continue
        if item.is_dir():
            yield from contents(item, f"{prefix}{item.name}/")
        else:
            yield prefix + item.name, item.read_bytes()


def is_litter(name: str) -> bool:
    """Whether Python, an editor or the system left this beside the package's own files."""
    return name == "__pycache__" or name.startswith(".") or name.endswith((".pyc", "~"))


def entry(name: str) -> ZipInfo:
    """A zip's entry that does not say when and where it was made."""
    info = ZipInfo(name, EPOCH)
    info.create_system, info.external_attr = UNIX, READABLE
    return info
