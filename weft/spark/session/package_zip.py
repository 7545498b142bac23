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


def pickle_by_value(module: ModuleType) -> None:
    """Lets Spark send a module's classes to workers whole, for they cannot import it."""
    from pyspark.cloudpickle import register_pickle_by_value

    register_pickle_by_value(module)


def package_zip(path: str | PathLike[str] = "weft.zip") -> str:
    """Writes the package as a zip and gives the zip's path, as text because Spark takes nothing else.

    >>> spark.addArtifacts(package_zip("weft.zip"), pyfile=True)
    """
    # All is read before the zip is opened: Weft may be running from the very zip that is written.
    held = list(package_files(files("weft"), "weft/"))
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w") as archive:
        for name, data in held:
            archive.writestr(zip_entry(name), data)
    return str(path)


def pickle_function(function: Any) -> bytes:
    """The function, or a value with functions in it, as bytes, as Spark itself would send it."""
    from pyspark import cloudpickle

    return cloudpickle.dumps(function)


def with_package(function: Callable[..., Any]) -> carry.ByValue:
    """The function with all of Weft, for a Python process that gets none of the files shipped to executors."""
    pickle_by_value(carry)
    return carry.ByValue("weft", package_sources(), pickle_function(function))


@cache
def package_sources() -> bytes:
    """The sources of Weft, compressed."""
    found = package_files(files("weft"), "weft/")
    return carry.compress_sources({name: data.decode() for name, data in found if name.endswith(".py")})


def package_files(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    """Every file of the package, sources and data: its name in the zip and its bytes, in order."""
    for item in sorted(folder.iterdir(), key=lambda found: found.name):
        if is_leftover(item.name):
            continue
        if item.is_dir():
            yield from package_files(item, f"{prefix}{item.name}/")
        else:
            yield prefix + item.name, item.read_bytes()


def is_leftover(name: str) -> bool:
    """Whether Python, an editor or the system left this beside the package's own files."""
    return name == "__pycache__" or name.startswith(".") or name.endswith((".pyc", "~"))


def zip_entry(name: str) -> ZipInfo:
    """A zip's entry that does not say when and where it was made."""
    info = ZipInfo(name, EPOCH)
    info.create_system, info.external_attr = UNIX, READABLE
    return info
