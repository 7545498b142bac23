"""Compile a kernel when it is first called, if numba is there; import nothing of numba before."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pickle import UnpicklingError
from typing import Any

MISSING = "it needs numba: install weft-spark[jit] on every worker"


def missing() -> str | None:
    """What sequential algorithms lack here, or None."""
    return None if find_spec("numba") else MISSING


class Kernel:
    """A function that numba compiles at its first call; `python` is the same function as it is written.

    `parts` are the functions of its own module that it calls.
    """

    def __init__(self, python: Callable[..., Any], *parts: Callable[..., Any]):
        self.python = python
        self.parts = parts
        self.__doc__ = python.__doc__
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self._compiled is None:
            self._compiled = compile_kernel(self.python, self.parts)
        try:
            return self._compiled(*arguments)
        except (ImportError, AttributeError, EOFError, UnpicklingError):
            # What another version of Weft kept on disk may name things that this one does not have.
            self._compiled = compile_anew(self.python)
            return self._compiled(*arguments)


def compile_kernel(python: Callable[..., Any], parts: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    """The compiled function, kept on disk for other processes where a folder for that can be written."""
    from numba import njit
    from numba.extending import register_jitable

    from weft.final.algorithms import compiled  # noqa: F401  (tells numba the functions that kernels call)

    for part in parts:
        register_jitable(part)
    try:
        return njit(cache=True)(python)
    except RuntimeError:  # neither the package nor HOME nor NUMBA_CACHE_DIR can be written
        return njit(python)


def compile_anew(python: Callable[..., Any]) -> Callable[..., Any]:
    """The compiled function, whatever is kept on disk; its parts are known to numba."""
    from numba import njit

    compiled: Callable[..., Any] = njit(python)
    return compiled
