"""Aggregates of a project's own: found by module and name, in the project's folder or among what is installed."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from weft.cli.nearest import did_you_mean
from weft.errors import ProjectError


def load_aggregate(folder: Path, name: str, reference: str) -> Any:
    """The aggregate that `name = "module:Class"` refers to: the instance of that name, or a new one of the class."""
    module, _, attribute = reference.partition(":")
    found = getattr(load_module(folder, name, module), attribute, None)
    if found is None:
        known = [word for word in vars(load_module(folder, name, module)) if not word.startswith("_")]
        raise ProjectError(f"aggregates.{name}: module '{module}' has no '{attribute}'. "
                           f"{did_you_mean(attribute, known)}")
    try:
        made = found() if isinstance(found, type) else found
    except Exception as error:
        raise ProjectError(f"aggregates.{name}: {attribute}() failed: {type(error).__name__}: {error}. Name an "
                           f"instance of it instead, made in {module}.py.") from error
    own = getattr(made, "name", name)
    if str(own).lower() != name.lower():
        raise ProjectError(f"aggregates.{name}: {attribute} calls itself '{own}': write {own} = \"{reference}\".")
    return made


def load_module(folder: Path, name: str, module: str) -> ModuleType:
    """The module of the project's folder, else the one that is installed."""
    path = folder.joinpath(*module.split(".")).with_suffix(".py")
    try:
        return load_file(path, module) if path.is_file() else import_module(module)
    except Exception as error:
        lacks = f"there is no '{path}', and no module '{module}' is installed"
        missing = isinstance(error, ModuleNotFoundError) and not path.is_file()
        said = lacks if missing else f"'{module}' cannot be imported: {type(error).__name__}: {error}"
        raise ProjectError(f"aggregates.{name}: {said}.") from error


def load_file(path: Path, module: str) -> ModuleType:
    """A file of the project as a module that no other of its name can be taken for; its classes go to workers whole."""
    from weft.spark.session.package_zip import pickle_by_value

    own = f"_weft_project_{module.replace('.', '_')}"
    if own in sys.modules and sys.modules[own].__file__ == str(path):
        return sys.modules[own]
    spec = spec_from_file_location(own, path)
    assert spec is not None and spec.loader is not None  # a .py file always has a loader
    made = module_from_spec(spec)
    sys.modules[own] = made
    sys.path[:0] = [] if str(path.parent) in sys.path else [str(path.parent)]
    try:
        spec.loader.exec_module(made)
    except BaseException:
        del sys.modules[own]
        raise
    pickle_by_value(made)
    return made
