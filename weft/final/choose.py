"""Choosing an algorithm: the cheapest that the monoid's algebra and the ranges allow, or the one the user names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from weft.aggregates.component import ROWS, Component
from weft.aggregates.operation import OPERATIONS, Operation
from weft.cost.calibration_table import CalibrationTable, current_figures, kind_of
from weft.errors import PlanError
from weft.final.algorithms import ALGORITHMS
from weft.final.algorithms.base import Algorithm, Types
from weft.final.algorithms.disjoint import disjoint
from weft.final.algorithms.doubling import doubling
from weft.final.algorithms.prefix import prefix
from weft.final.algorithms.recalc import recalc
from weft.final.bags import find_kernel
from weft.model.stages import Forced

BY_NAME = {a.card.name: a for a in ALGORITHMS}
# What folds an aggregate whose own name is no function's.
SPELLED = dict.fromkeys(("sum", "count", "avg", "mean"), "add") | dict.fromkeys(("stddev", "variance"), "moments")
# What any worker can run: nobody knows at plan time whether workers have numba, and compiling would cost them seconds.
UNCOMPILED = tuple(a for a in ALGORITHMS if a.card.engine == "numpy")
# What reads any window off slices of any lengths, the cheapest first.
READERS = (prefix, doubling, disjoint, recalc)
EVERY = "*"  # forces an algorithm for all monoids

# What a worker has to do where nobody knows better.
CELLS = 1_000_000


def choose(operation: Operation, types: Types, ranges: Sequence[int], cells: int = CELLS,
           figures: CalibrationTable | None = None,
           among: Sequence[Algorithm] = ALGORITHMS) -> Algorithm:
    """The cheapest algorithm that is here and may fold this monoid; the naive one where nothing else may."""
    costs = figures or current_figures()
    kind = kind_of(operation, types)
    legal = [a for a in among if a.supports(operation, types, ranges) is None and a.missing is None]
    known = [(s, a) for a in legal if (s := costs.seconds(a.card.name, kind, ranges, cells)) is not None]
    return min(known, key=lambda pair: pair[0])[1] if known else legal[-1]


def find_algorithm(name: str) -> Algorithm:
    """The algorithm of a name."""
    if name not in BY_NAME:
        near = get_close_matches(name, BY_NAME, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"the algorithms are {', '.join(BY_NAME)}."
        raise PlanError(f"there is no algorithm '{name}': {hint}")
    return BY_NAME[name]


def forced_pairs(algorithm: str | Mapping[str, str] | None, defined: Iterable[str] = ()) -> Forced:
    """What the user forces: one name for all monoids, or a name for each that he gives, his own aggregates too."""
    if algorithm is None:
        return ()
    pairs = ((EVERY, algorithm),) if isinstance(algorithm, str) else tuple(algorithm.items())
    for monoid, name in pairs:
        find_algorithm(name)
        if monoid != EVERY:
            check_function(monoid, name, defined)
    return pairs


def check_function(function: str, forced: str, defined: Iterable[str] = ()) -> None:
    """Raises where an algorithm is forced for a function that there is not."""
    names = [*(m.name for m in OPERATIONS), *defined]
    if function not in names:
        near = [SPELLED[function]] if function in SPELLED else get_close_matches(function, names, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"the functions are {', '.join(names)}."
        raise PlanError(f"cannot force '{forced}' for '{function}': {hint}")


def answered_by(component: Component, ranges: Sequence[int], forced: Forced) -> str:
    """The name of what answers a component: an algorithm that folds, or the kernel of its bags, which no one forces."""
    if component.monoid.bag:
        return find_kernel(component.monoid).name
    return assign(component, ranges, forced).card.name


def read_by(component: Component, ranges: Sequence[int], forced: Forced) -> str:
    """The name of what answers a component in a stream, where slices are not equally long: it must read any window."""
    if component.monoid.bag:
        return find_kernel(component.monoid).name
    if component == ROWS:
        return prefix.card.name
    operation, types = folding(component)
    wanted = dict(forced).get(operation.name) or dict(forced).get(EVERY)
    legal = [a for a in READERS if a.supports(operation, types, ()) is None and keeps_bound(a, operation, types)]
    if wanted is not None and wanted not in (a.card.name for a in legal):
        names = " or ".join(a.card.name for a in legal)
        raise PlanError(f"'{wanted}' cannot fold {component} in a stream, whose windows hold any number of unequal "
                        f"slices: choose {names}, or leave the algorithm out.")
    return wanted or legal[0].card.name


def keeps_bound(algorithm: Algorithm, operation: Operation, types: Types) -> bool:
    """Whether rounding stays within its bound though nobody knows how many slices a window will hold."""
    return algorithm.card.depth == "log" or operation.exact or not operation.rounds(types)


def assign(component: Component, ranges: Sequence[int], forced: Forced) -> Algorithm:
    """The algorithm that folds a component over these ranges: the forced one if it may, else the cheapest.

    Rows are counted by prefix differences whatever is forced, for they say which answers exist.
    """
    if component == ROWS:
        return prefix
    operation, types = folding(component)
    wanted = dict(forced).get(operation.name) or dict(forced).get(EVERY)
    if wanted is None:
        return choose(operation, types, ranges, among=UNCOMPILED)
    algorithm = find_algorithm(wanted)
    missing = algorithm.missing and f"it cannot run: {algorithm.missing}"
    reason = algorithm.supports(operation, types, ranges) or missing
    if reason:
        cheapest = choose(operation, types, ranges, among=UNCOMPILED).card.name
        raise PlanError(f"'{wanted}' cannot fold {component}: {reason}. For {operation.name}, '{cheapest}' would be "
                        f"the cheapest; leave the algorithm out and Weft chooses it.")
    return algorithm


def folding(component: Component) -> tuple[Operation, Types]:
    """The operation that folds a component, and the types of its fields: numbers as they are, others by rank."""
    monoid = component.monoid
    if monoid.operation is None or monoid.encode is None:
        raise PlanError(f"nothing folds {component}: the monoid '{monoid}' has no operation or does not encode slices.")
    return monoid.operation, monoid.types(component.type, len(component.columns))
