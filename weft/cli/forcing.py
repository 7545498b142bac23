"""The algorithms and the optimizer that the user insists on, as the command line spells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from weft.cli.choice import PlanOptions
from weft.cli.project import Project
from weft.errors import PlanError
from weft.final.choose import EVERY, forced_pairs
from weft.optimize import OPTIMIZERS, Optimizer
from weft.optimize.plan import find_optimizer
from weft.slicing import PAIRS, Slicer, find_slicer


def chosen_algorithm(project: Project, texts: Sequence[str]) -> Mapping[str, str] | None:
    """What the command line forces, else what the project does; names that there are not are wrong usage."""
    if not texts:
        return project.algorithm or None
    pairs = [pair_of(text) for text in texts]
    functions = [function for function, _ in pairs]
    for function in functions:
        if functions.count(function) > 1:
            what = "all functions" if function == EVERY else f"'{function}'"
            raise wrong(f"{what} can have one algorithm only.")
    try:
        return dict(forced_pairs(dict(pairs), project.aggregates))
    except PlanError as error:
        raise wrong(str(error)) from error


def pair_of(text: str) -> tuple[str, str]:
    """A function and its algorithm: `max=slick_deque`, or `chain` for all functions."""
    function, equals, name = text.partition("=")
    return (function.strip(), name.strip()) if equals else (EVERY, text.strip())


def wrong(reason: str) -> typer.BadParameter:
    """The error of wrong usage."""
    return typer.BadParameter(reason, param_hint="--algorithm")


def chosen_optimizer(name: str | None) -> Optimizer:
    """The optimizer that the command line names, else the first of all; a name that there is not is wrong usage."""
    try:
        return OPTIMIZERS[0] if name is None else find_optimizer(name)
    except PlanError as error:
        raise typer.BadParameter(str(error), param_hint="--optimizer") from error


def chosen_slicer(name: str | None) -> Slicer:
    """The slicer that the command line names, else the one that plans are cut by; a name that there is not is wrong."""
    try:
        return PAIRS if name is None else find_slicer(name)
    except PlanError as error:
        raise typer.BadParameter(str(error), param_hint="--slicer") from error


def chosen(project: Project, choice: PlanOptions) -> dict[str, Any]:
    """What a plan is made with, as `Loom.plan`, `explain`, `run` and `verify` take it."""
    name = project.optimizer if choice.optimizer is None else choice.optimizer
    sliced = {} if choice.slicer is None else {"slicer": chosen_slicer(choice.slicer).name}
    algorithm = chosen_algorithm(project, choice.algorithms)
    return {"algorithm": algorithm, "optimizer": chosen_optimizer(name).name, **sliced}
