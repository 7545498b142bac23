"""A function together with the package that it is from, for a Python process on another machine that lacks it.

Spark sends this module whole, so it imports nothing of Weft.
"""

from __future__ import annotations

import json
import pickle
import sys
import zlib
from collections.abc import Callable, Mapping
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from typing import Any


class ByValue:
    """A pickled function that becomes itself again where it is unpickled, its package made importable there first."""

    def __init__(self, package: str, sources: bytes, function: bytes):
        self.package, self.sources, self.function = package, sources, function

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, bytes, bytes]]:
        return load_function, (self.package, self.sources, self.function)

    def __call__(self, *args: Any) -> Any:
        return load_function(self.package, self.sources, self.function)(*args)


def compress_sources(texts: Mapping[str, str]) -> bytes:
    """The texts of a package's modules by their paths, as every task gets them."""
    return zlib.compress(json.dumps(texts).encode())


def load_function(package: str, sources: bytes, function: bytes) -> Callable[..., Any]:
    """The function itself."""
    if find_spec(package) is None:
        sys.meta_path.append(SourceImporter(json.loads(zlib.decompress(sources))))
    return pickle.loads(function)


class SourceImporter(InspectLoader, MetaPathFinder):
    """Imports modules from texts by their paths: a file would outlive a process that a signal ends."""

    def __init__(self, texts: Mapping[str, str]):
        self.texts = texts

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """How to import a module, if its text is here."""
        place = self.place_of(name)
        if place is None:
            return None
        spec = spec_from_loader(name, self, origin=place, is_package=self.is_package(name))
        assert spec is not None
        spec.has_location = True  # modules may ask where they lie, and find that there is no such file
        return spec

    def place_of(self, name: str) -> str | None:
        """The path of a module."""
        stem = name.replace(".", "/")
        return next((place for place in (f"{stem}/__init__.py", f"{stem}.py") if place in self.texts), None)

    def is_package(self, name: str) -> bool:
        """Whether other modules lie below."""
        return f"{name.replace('.', '/')}/__init__.py" in self.texts

    def get_source(self, name: str) -> str | None:
        """The text of a module."""
        place = self.place_of(name)
        return None if place is None else self.texts[place]
