"""The laws of user-defined aggregates, checked on example rows; what breaks one is shown."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.aggregates.alike import agree, equal, shown, value_at
from weft.aggregates.defined import Definition
from weft.aggregates.operation import Operation, State
from weft.errors import AggregateError

TRIALS = 120  # states that each law is tried on
GROUPS = 12  # groups of rows that are cut and shuffled
# Laws hold within rounding: relative to the largest number of the values at hand.
ROUNDING = 1e-9

Sides = Callable[[Operation, State, State, State], tuple[State, State]]


@dataclass(frozen=True)
class Law:
    """Two sides that must be equal for all states a, b, c, where `holds_for` the operation."""

    name: str
    text: str
    sides: Sides
    holds_for: Callable[[Operation], bool] = lambda operation: True
    letters: str = "abc"
    exact: Callable[[Operation], bool] = lambda operation: False


LAWS: tuple[Law, ...] = (
    Law("associative", "combine(combine(a, b), c) = combine(a, combine(b, c))",
        lambda m, a, b, c: (m.combine(m.combine(a, b), c), m.combine(a, m.combine(b, c)))),
    Law("identity", "combine(identity, a) = a", lambda m, a, b, c: (m.combine(empty_like(m, a), a), a), letters="a"),
    Law("identity", "combine(a, identity) = a", lambda m, a, b, c: (m.combine(a, empty_like(m, a)), a), letters="a"),
    Law("commutative", "combine(a, b) = combine(b, a)", lambda m, a, b, c: (m.combine(a, b), m.combine(b, a)),
        lambda m: m.commutative, "ab"),
    Law("idempotent", "combine(a, a) = a", lambda m, a, b, c: (m.combine(a, a), a), lambda m: m.idempotent, "a"),
    Law("selective", "combine(a, b) is a or b", lambda m, a, b, c: either(m.combine(a, b), a, b),
        lambda m: m.selective, "ab"),
    Law("inverse", "inverse(combine(a, b), b) = a", lambda m, a, b, c: (undone(m, a, b), a),
        lambda m: m.inverse is not None, "ab", exact=lambda m: m.exact),
)


def empty_like(operation: Operation, state: State) -> State:
    """As many identities as a state has values."""
    return operation.empty(tuple(a.dtype for a in state), len(state[0]))


def undone(operation: Operation, a: State, b: State) -> State:
    """The combination of a and b with b taken away again."""
    assert operation.inverse is not None
    return operation.inverse(operation.combine(a, b), b)


def either(found: State, a: State, b: State) -> tuple[State, State]:
    """What was found, beside whichever of a and b it is: b where it is neither."""
    is_a = agree(found, a)
    return found, tuple(choose(is_a, x, y) for x, y in zip(a, b, strict=True))


def choose(which: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Elements of x where `which` holds, of y elsewhere; objects are left as they are."""
    picked = y.copy()
    picked[which] = x[which]
    return picked


def check_laws(definition: Definition, columns: Sequence[pa.Array], seed: int = 0) -> None:
    """Raises AggregateError with a counterexample where the aggregate breaks a law on these rows."""
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"), blamed(definition, "combine"):
        rows = check_lift(definition, columns)
        check_shapes(definition, rows)
        states = pool(definition.operation, rows, rng)
        picked = [taken(states, rng.integers(0, len(states[0]), TRIALS)) for _ in "abc"]
        for law in LAWS:
            check_law(definition, law, picked)
        check_lower(definition, states)
        check_cuts(definition, rows, rng)


@contextmanager
def blamed(definition: Definition, step: str) -> Iterator[None]:
    """Turns what a user's function raises into an error that names the aggregate and the function."""
    try:
        yield
    except AggregateError:
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error}".rstrip(".: ")
        raise AggregateError(definition.name, f"{step} failed on example values: {said}.",
                             "Mend it; where only some values make sense, list rows of these in `examples`.") from error


def check_lift(definition: Definition, columns: Sequence[pa.Array]) -> State:
    """The states of all rows, if lifting a row does not depend on the rows beside it."""
    size = len(columns[0])
    with blamed(definition, "lift"):
        rows = definition.state_of(columns)
        alone = [definition.state_of([c.slice(i, 1) for c in columns]) for i in range(min(size, 8))]
    if any(len(a) != size for a in rows):
        raise AggregateError(definition.name, f"lift gave {len(rows[0])} states for {size} rows.",
                             "Give an element for each row.")
    for i, state in enumerate(alone):
        if not equal(value_at(rows, i), value_at(state, 0)):
            said = f"{shown(rows, i)} among others and {shown(state, 0)} alone"
            raise broken(definition, "lift", "a row's state depends on that row alone", f"it is {said}")
    return rows


def check_shapes(definition: Definition, rows: State) -> None:
    """Raises where combine gives other fields than it takes, or changes what it is given."""
    before = copy.deepcopy(rows)
    with blamed(definition, "combine"):
        found = definition.operation.combine(rows, rows)
        kinds = tuple(a.dtype for a in found)
    if kinds != definition.types or any(len(a) != len(rows[0]) for a in found):
        raise AggregateError(definition.name, f"combine gave fields of {names(kinds)}, not of "
                             f"{names(definition.types)}.", "Give arrays of the declared types, one element a state.")
    each = definition.operation.ufunc
    fields = found if each is None else tuple(each(a, a) for a in rows)
    for i in np.flatnonzero(~agree(found, fields))[:1].tolist():
        raise broken(definition, "ufunc", "combine does what the ufunc does to each field",
                     f"combine gives {shown(found, i)}, the ufunc {shown(fields, i)}")
    for i in np.flatnonzero(~agree(before, rows))[:1].tolist():
        raise broken(definition, "combine", "combine leaves its arguments unchanged",
                     f"{shown(before, i)} became {shown(rows, i)}")


def names(kinds: Sequence[np.dtype]) -> str:
    """The types of a state's fields in words."""
    return f"({', '.join(map(str, kinds))})"


def pool(operation: Operation, rows: State, rng: np.random.Generator) -> State:
    """States to try laws on: of single rows, of several together, and the identity."""
    size = len(rows[0])
    together = [taken(rows, rng.integers(0, size, 40)) for _ in range(3)]
    folded = operation.combine(operation.combine(together[0], together[1]), together[2])
    empty = operation.empty(tuple(a.dtype for a in rows), 2)
    return tuple(np.concatenate(parts) for parts in zip(rows, folded, empty, strict=True))


def taken(state: State, places: np.ndarray) -> State:
    """The values at some places."""
    return tuple(a[places] for a in state)


def check_law(definition: Definition, law: Law, picked: Sequence[State]) -> None:
    """Raises with the first example that breaks the law."""
    operation = definition.operation
    if not law.holds_for(operation):
        return
    with blamed(definition, "inverse" if law.name == "inverse" else "combine"):
        left, right = law.sides(operation, *picked)
    rounding = 0.0 if law.exact(operation) else ROUNDING
    found = []
    for i in np.flatnonzero(~agree(left, right, picked, rounding)).tolist():
        values = ", ".join(f"{letter} = {shown(state, i)}" for letter, state in zip(law.letters, picked, strict=False))
        found.append(f"with {values} the one side is {shown(left, i)} and the other {shown(right, i)}")
    if found:
        raise broken(definition, law.name, law.text, min(found, key=len))


def broken(definition: Definition, law: str, text: str, example: str) -> AggregateError:
    """The error of a broken law."""
    return AggregateError(definition.name, f"it breaks the law '{law}', {text}: {example}.")


def check_lower(definition: Definition, states: State) -> None:
    """Raises where lower fails, gives other types or too few answers, or looks at more than one state."""
    size = len(states[0])
    with blamed(definition, f"lower (or reading its answers as {definition.returns})"):
        whole = definition.answers(states)
        alone = [definition.answers(taken(states, np.array([i]))) for i in (*range(min(size, 6)), size - 1)]
    if len(whole) != size:
        raise AggregateError(definition.name, f"lower gave {len(whole)} answers for {size} states.",
                             "Give an element for each state.")
    for i, answer in zip((*range(min(size, 6)), size - 1), alone, strict=True):
        if not equal(whole[i].as_py(), answer[0].as_py(), rounding=ROUNDING):
            said = f"{whole[i].as_py()} among others and {answer[0].as_py()} alone"
            raise broken(definition, "lower", "lower(state) depends on that state alone", f"it gave {said}")


def check_cuts(definition: Definition, rows: State, rng: np.random.Generator) -> None:
    """Raises where an answer depends on how its rows are cut into slices and ordered."""
    operation, size = definition.operation, len(rows[0])
    for _ in range(GROUPS):
        group = rng.integers(0, size, int(rng.integers(1, 9)))
        whole = operation.reduce_runs(taken(rows, group), np.array([0]))
        apart = operation.empty(definition.types, 1)
        for i in rng.permutation(group):
            apart = operation.combine(apart, taken(rows, np.array([i])))
        one, other = definition.answers(whole)[0].as_py(), definition.answers(apart)[0].as_py()
        if not equal(one, other, [value_at(rows, i) for i in group], ROUNDING):
            states = ", ".join(shown(rows, i) for i in group)
            raise broken(definition, "cuts", "an answer does not depend on how its rows are cut and ordered",
                         f"the rows with states {states} give {one} together and {other} one by one")
