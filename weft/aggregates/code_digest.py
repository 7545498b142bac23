"""A digest of a user's own code: the same in every process as long as the code and all that it uses are the same.

Functions count by their bytecode, with the values of the names that they use; classes by their members; objects by what
pickle would keep of them. Libraries count by their version. Where something cannot be told, there is no digest.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from copyreg import dispatch_table
from functools import cached_property, lru_cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from types import BuiltinFunctionType, CodeType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

import numpy as np

from weft.aggregates.component import Component
from weft.aggregates.monoids import is_own

PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
CACHED = type(lru_cache(len))
FUNCTIONS = (FunctionType, staticmethod, classmethod, property)


def own_code(components: Iterable[Component]) -> list[str | None]:
    """The digests of the monoids among those of components that are not Weft's, in the order of their names."""
    monoids = {component.monoid.name: component.monoid for component in components if not is_own(component.monoid)}
    return [code_digest(monoids[name]) for name in sorted(monoids)]


class NoDigest(Exception):
    """Nobody can tell whether this value would be the same in another process."""


def code_digest(value: object) -> str | None:
    """A text that stands for a value with all code that belongs to it, None where there is none."""
    try:
        found = ValueReader().read(value)
    except (NoDigest, RecursionError):
        return None
    return sha256(json.dumps([sys.version_info[:2], found]).encode()).hexdigest()


class ValueReader:
    """Reads values as lists of plain texts. What may hold itself is read once, and named by its number from then
    on; of all else equal values are one object in some processes and several in others."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}
        self._held: list[object] = []  # so that no other value gets the identity of one that was read
        self._modules: set[tuple[int, tuple[str, ...]]] = set()

    def read(self, value: Any) -> list:
        """What a value is, whatever it is."""
        kind = type(value)
        if kind in PLAIN:
            return [kind.__name__, repr(value)]
        if kind is tuple:
            return ["tuple", *map(self.read, value)]
        if kind in (set, frozenset):
            return [kind.__name__, *sorted((ValueReader().read(each) for each in value), key=json.dumps)]
        if kind is CodeType:
            return ["code", *self._code(value)]
        if id(value) in self._seen:
            return ["again", self._seen[id(value)]]
        self._seen[id(value)] = len(self._seen)
        self._held.append(value)
        return [kind.__name__, *self._parts(value)]

    def _code(self, code: CodeType) -> list:
        return [code.co_code.hex(), code.co_exceptiontable.hex(), code.co_names, code.co_varnames, code.co_flags,
                code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, self.read(code.co_consts)]

    def _parts(self, value: Any) -> list:
        if type(value) is list:
            return [self.read(each) for each in value]
        if type(value) is dict:
            return [[self.read(key), self.read(each)] for key, each in value.items()]
        if isinstance(value, ModuleType):
            return [library_of(value.__name__)]
        if is_named(value) and is_library(value.__module__ or "builtins"):
            return [library_of(value.__module__ or "builtins"), value.__qualname__, self.read(closure_of(value))]
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, type):
            return [self.read(value.__bases__), *self._members(value)]
        return self._object(value)

    def _function(self, value: FunctionType) -> list:
        parts = [value.__code__, value.__defaults__, value.__kwdefaults__, closure_of(value)]
        return [*map(self.read, parts), *self._used(value.__globals__, tuple(sorted(names_in(value.__code__))))]

    def _used(self, there: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[list]:
        """The values that names have in a module; of another module of the user's those of the same names."""
        for name in (name for name in names if name in there):
            value = there[name]
            if not isinstance(value, ModuleType) or is_library(value.__name__):
                yield [name, self.read(value)]
            elif (id(value), names) not in self._modules:
                self._modules.add((id(value), names))
                yield [name, *self._used(vars(value), names)]

    def _members(self, value: type) -> Iterator[list]:
        """What a class has, but for what Python keeps of it for itself."""
        for name, member in vars(value).items():
            if not name.startswith(("__", "_abc_")) or isinstance(member, FUNCTIONS):
                yield [name, self.read(member)]

    def _object(self, value: Any) -> list:
        """A wrapper by what it wraps, any other object by what pickle keeps of it."""
        if isinstance(value, MemberDescriptorType):
            return [value.__name__]
        if isinstance(value, np.ufunc):
            return [ufunc_name(value)]
        wrapped = wrapped_by(value)
        return self._pickled(value) if wrapped is None else [self.read(wrapped)]

    def _pickled(self, value: Any) -> list:
        try:
            made = dispatch_table[type(value)](value) if type(value) in dispatch_table else value.__reduce_ex__(4)
        except Exception as error:  # whatever a user's object raises
            raise NoDigest(f"{type(value).__name__}: {error}") from error
        if isinstance(made, str):
            return [global_name(value, made)]
        return [self.read(list(part) if isinstance(part, Iterator) else part) for part in made]


def is_named(value: object) -> bool:
    """Whether a value is known by its module and name: a class, a function, but no method of an object."""
    if isinstance(value, BuiltinFunctionType):
        return value.__self__ is None or isinstance(value.__self__, ModuleType)
    return isinstance(value, type | FunctionType)


def wrapped_by(value: Any) -> Any:
    """The function that a wrapper stands for, also numba's; None where it is none."""
    if isinstance(value, property):
        return value.fget
    if isinstance(value, staticmethod | classmethod):
        return value.__func__
    if isinstance(value, cached_property):
        return value.func
    return value.__wrapped__ if isinstance(value, CACHED) else getattr(value, "py_func", None)


def closure_of(value: object) -> tuple:
    """What a function holds of the one that it was made in: also a library's, which a user may have given his own."""
    cells = value.__closure__ if isinstance(value, FunctionType) else None
    return tuple(cell.cell_contents for cell in cells or () if holds_value(cell))


def holds_value(cell: Any) -> bool:
    """Whether a name of a closure has a value yet."""
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def names_in(code: CodeType) -> set[str]:
    """All names that a function and those within it look up."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return set(code.co_names).union(*map(names_in, inner))


def global_name(value: object, name: str) -> str:
    """What pickle knows by its name alone, if that is one of a library."""
    module = getattr(value, "__module__", None) or ""
    if not is_library(module):
        raise NoDigest(f"'{name}' is known by its name alone")
    return f"{library_of(module)} {name}"


def ufunc_name(value: np.ufunc) -> str:
    """The name of a ufunc of NumPy's own."""
    if getattr(np, value.__name__, None) is not value:
        raise NoDigest(f"{value.__name__} is no function of NumPy")
    return f"{value.__name__} {np.__version__}"


def is_library(module: str) -> bool:
    """Whether a module is Python's own, Weft's or installed, so that its version tells what it does."""
    top = module.partition(".")[0]
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    installed = "site-packages" in file or "dist-packages" in file
    return top == "weft" or top in sys.stdlib_module_names or installed


def library_of(module: str) -> str:
    """A module of a library and its version, or raises where that has none."""
    top = module.partition(".")[0]
    if top == "weft" or top in sys.stdlib_module_names:
        return module
    try:
        return f"{module} {version(top)}"
    except PackageNotFoundError:
        known = getattr(sys.modules.get(top), "__version__", None)
    if known is None:
        raise NoDigest(f"module '{module}' has no version")
    return f"{module} {known}"
