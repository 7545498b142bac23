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
from weft.final.algorithms.prefix import prefix
from weft.final.bags import find_kernel
from weft.model.stages import Forced

BY_NAME = {a.card.name: a for a in ALGORITHMS}
# What folds an aggregate whose own name is no function's.
SPELLED = dict.fromkeys(("sum", "count", "avg", "mean"), "add") | dict.fromkeys(("stddev", "variance"), "moments")
# What any worker can run: nobody knows at plan time whether workers have numba, and compiling would cost them seconds.
UNCOMPILED = tuple(a for a in ALGORITHMS if a.card.engine == "numpy")
EVERY = "*"  # forces an algorithm for all functions
Forcing = str | Algorithm | Mapping[str, str | Algorithm] | None

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


def find_algorithm(name: str | Algorithm) -> Algorithm:
    """The algorithm of a name; one that the user brings along is itself."""
    if not isinstance(name, str):
        return name
    if name not in BY_NAME:
        near = get_close_matches(name, BY_NAME, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"the algorithms are {', '.join(BY_NAME)}."
        raise PlanError(f"there is no algorithm '{name}': {hint}")
    return BY_NAME[name]


def forced_pairs(algorithm: Forcing, defined: Iterable[str] = ()) -> Forced:
    """What the user forces: one algorithm for all functions, or one for each that he names, his own aggregates too.

    One of Weft's is its name, one from outside the algorithm itself, which then travels with the stages.
    """
    if algorithm is None:
        return ()
    pairs = tuple(algorithm.items()) if isinstance(algorithm, Mapping) else ((EVERY, algorithm),)
    for function, wanted in pairs:
        name = check_algorithm(wanted)
        if function != EVERY:
            check_function(function, name, defined)
    return pairs


def check_algorithm(wanted: str | Algorithm) -> str:
    """The name of a forced algorithm, if there is one; one from outside must not pass for one of Weft's."""
    if isinstance(wanted, str):
        return find_algorithm(wanted).card.name
    if not isinstance(wanted, Algorithm):
        raise PlanError(f"{wanted!r} is no algorithm: give the name of one, or a value such as weft.extend.Bulk.")
    name = wanted.card.name
    if name in BY_NAME and BY_NAME[name] is not wanted:
        raise PlanError(f"'{name}' is the name of one of Weft's algorithms: give your own another name on its card.")
    return name


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
    wanted = forced_for(operation, forced)
    if wanted and reads_any(wanted, operation, types):
        return wanted.card.name
    legal = [a.card.name for a in ALGORITHMS if reads_any(a, operation, types)]
    if wanted:
        raise PlanError(f"'{wanted.card.name}' cannot fold {component} in a stream, whose windows hold any number of "
                        f"unequal slices: choose {' or '.join(legal)}, or leave the algorithm out.")
    return legal[0]


def forced_for(operation: Operation, forced: Forced) -> Algorithm | None:
    """The algorithm that is forced for an operation, if any is."""
    wanted = dict(forced).get(operation.name) or dict(forced).get(EVERY)
    return find_algorithm(wanted) if wanted else None


def reads_any(algorithm: Algorithm, operation: Operation, types: Types) -> bool:
    """Whether an algorithm may read windows of a stream."""
    return (algorithm.card.ragged and algorithm.supports(operation, types, ()) is None
            and keeps_bound(algorithm, operation, types))


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
    algorithm = forced_for(operation, forced)
    if algorithm is None:
        return choose(operation, types, ranges, among=UNCOMPILED)
    missing = algorithm.missing and f"it cannot run: {algorithm.missing}"
    reason = algorithm.supports(operation, types, ranges) or missing
    if reason:
        cheapest = choose(operation, types, ranges, among=UNCOMPILED).card.name
        raise PlanError(f"'{algorithm.card.name}' cannot fold {component}: {reason}. For {operation.name}, "
                        f"'{cheapest}' would be the cheapest; leave the algorithm out and Weft chooses it.")
    return algorithm


def folding(component: Component) -> tuple[Operation, Types]:
    """The operation that folds a component, and the types of its fields: numbers as they are, others by rank."""
    monoid = component.monoid
    if monoid.operation is None or monoid.encode is None:
        raise PlanError(f"nothing folds {component}: the monoid '{monoid}' has no operation or does not encode slices.")
    return monoid.operation, monoid.types(component.type, len(component.columns))
