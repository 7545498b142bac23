"""User-defined aggregates as Weft runs them: a monoid, Spark SQL for the slices, and the way back to answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from string import Formatter

import numpy as np
import pyarrow as pa

from weft.aggregates.base import Aggregate, Argument, UnsupportedType
from weft.aggregates.component import FILTER, Component, Lowered
from weft.aggregates.ddl import arrow_type, spelled
from weft.aggregates.monoids import Monoid
from weft.aggregates.monoids.lanes import Decoded, Lane, validity
from weft.aggregates.operation import Operation, State, Types
from weft.aggregates.user import OBJECT, Declared, Vectorized
from weft.errors import AggregateError

# What Spark casts to a wider type without a loss that Arrow would round otherwise.
WIDENS = {
    "smallint": ("tinyint",),
    "int": ("tinyint", "smallint"),
    "bigint": ("tinyint", "smallint", "int"),
    "float": ("tinyint", "smallint"),
    "double": ("tinyint", "smallint", "int", "bigint", "float"),
}


@dataclass(frozen=True, eq=False)
class Definition:
    """A user's aggregate with its declarations checked; it travels to the workers with the stages."""

    aggregate: Declared
    name: str
    takes: tuple[str, ...]
    returns: str
    arguments: tuple[pa.DataType, ...]
    answer: pa.DataType

    @property
    def vectorized(self) -> Vectorized:
        """The aggregate over arrays."""
        return self.aggregate.vectorized()

    @property
    def types(self) -> Types:
        """The NumPy types of the state's fields."""
        return self.vectorized.types

    @property
    def operation(self) -> Operation:
        """What the kernels fold."""
        does, says = self.vectorized, self.aggregate
        return Operation(self.name, does.combine, lambda types: does.identity, does.inverse, says.idempotent,
                      says.selective, says.commutative, does.ufunc, says.exact)

    @property
    def monoid(self) -> Monoid:
        """What folds its component. Its slices are not merged: they would not shrink, and a user's rows are his own."""
        return Monoid(self.name, self.operation, self.encode, self.state_types, made_by=(monoid_of, (self,)))

    def state_types(self, kind: str, columns: int) -> Types:
        """The types of the state's fields, whatever the component is."""
        return self.types

    def encode(self, columns: Sequence[pa.Array], answer: pa.DataType, ansi: bool) -> Lane:
        """The lane of its slices: one without rows is the identity, and any answer may be null."""
        return Lane(self.operation, self.slices(columns), None, self.decode)

    def decode(self, state: State) -> Decoded:
        """The answers and their marks."""
        values = self.answers(state)
        valid = validity(values)
        return [values], None if valid is None else valid.astype(np.int8)

    @property
    def function(self) -> Aggregate:
        """What the SQL reader knows of it."""
        return Aggregate(self.name, partial(lower_defined, self), arity=(len(self.takes),) * 2, defined=True)

    def state_of(self, columns: Sequence[pa.Array]) -> State:
        """The state of each row."""
        return self.vectorized.lift(columns)

    def answers(self, state: State) -> pa.Array:
        """The answers that states stand for, in the type that the aggregate returns."""
        with np.errstate(all="ignore"):  # the identity may divide by no rows
            lowered = self.vectorized.lower(state)
        found = lowered if isinstance(lowered, pa.Array | pa.ChunkedArray) else pa.array(lowered, *self._hint(lowered))
        found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
        return found if found.type == self.answer else found.cast(self.answer)

    def _hint(self, lowered: object) -> tuple[pa.DataType, ...]:
        """The type to read Python values with; NumPy's have one of their own."""
        typed = isinstance(lowered, np.ndarray) and lowered.dtype != OBJECT
        return () if typed else (self.answer,)

    def slices(self, columns: Sequence[pa.Array]) -> State:
        """The state of each slice, from its partials or from the rows that it holds."""
        if self.aggregate.partials:
            identity = self.vectorized.identity
            return tuple(filled(c, t, e) for c, t, e in zip(columns, self.types, identity, strict=True))
        return self.reduced(columns[0])

    def reduced(self, rows: pa.Array) -> State:
        """The state of each slice from the list of its rows."""
        lengths = rows.value_lengths().to_numpy(zero_copy_only=False)
        state = self.operation.empty(self.types, len(lengths))
        here, flat = np.flatnonzero(lengths), rows.flatten()
        if len(here):
            first = np.cumsum(lengths[here]) - lengths[here]
            lifted = self.state_of(flat.flatten() if len(self.takes) > 1 else [flat])
            for target, value in zip(state, self.operation.reduce_runs(lifted, first), strict=True):
                target[here] = value
        return state


def monoid_of(definition: Definition) -> Monoid:
    """The monoid of a definition, made in a worker."""
    return definition.monoid


def filled(column: pa.Array, kind: np.dtype, identity: object) -> np.ndarray:
    """A column of partials as a field of the state, with the identity where a slice has no value."""
    if kind == OBJECT:
        found = np.empty(len(column), object)
        found[:] = [identity if value is None else value for value in column.to_pylist()]
        return found
    arrow = pa.from_numpy_dtype(kind)
    return column.cast(arrow).fill_null(pa.scalar(identity, arrow)).to_numpy(zero_copy_only=False)


def lower_defined(definition: Definition, args: tuple[Argument, ...], only: str) -> Lowered:
    """The component of one call. Rows with a null argument are left out."""
    sql = [widened(definition, *pair) for pair in zip(args, definition.takes, strict=True)]
    condition = [only.removeprefix(FILTER).removesuffix(")")] if only else []
    templates = definition.aggregate.partials
    columns = partial_columns(templates, sql, condition) if templates else (collected(sql, condition),)
    label = f"{definition.name}({', '.join(arg.sql for arg in args)}){only}"
    return Lowered((Component(definition.monoid, columns, definition.returns, label=label),))


def widened(definition: Definition, arg: Argument, wanted: str) -> str:
    """The argument's SQL in the type that the aggregate takes."""
    if arg.type == wanted:
        return arg.sql
    if arg.type in WIDENS.get(wanted, ()):
        return f"CAST({arg.sql} AS {wanted.upper()})"
    raise UnsupportedType(f"{arg.type}, where it takes {wanted},", f"Cast it: CAST({arg.sql} AS {wanted.upper()}).")


def where(sql: str, conditions: Sequence[str]) -> str:
    """The SQL, null where one of the conditions does not hold."""
    return f"CASE WHEN {' AND '.join(f'({c})' for c in conditions)} THEN {sql} END" if conditions else sql


def collected(args: Sequence[str], condition: Sequence[str]) -> str:
    """Spark SQL for the rows of a slice as a list."""
    if len(args) == 1:
        return f"collect_list({where(args[0], condition)})"
    fields = ", ".join(f"'a{i}', {arg}" for i, arg in enumerate(args))
    return f"collect_list({where(f'named_struct({fields})', [*condition, *map(there, args)])})"


def partial_columns(templates: Sequence[str], args: Sequence[str], condition: Sequence[str]) -> tuple[str, ...]:
    """Spark SQL for the fields of a slice's state; an argument is null where another one is."""
    given = [where(arg, [*condition, *(there(other) for other in args if other != arg)]) for arg in args]
    return tuple(template.format(*given) for template in templates)


def there(arg: str) -> str:
    """The condition that an argument is not null."""
    return f"({arg}) IS NOT NULL"


def define(aggregate: Declared) -> Definition:
    """The definition of an aggregate whose declarations are sound, or an error that names the one that is not."""
    name = getattr(aggregate, "name", "")
    if not isinstance(aggregate, Declared):
        kind = aggregate.__name__ if isinstance(aggregate, type) else type(aggregate).__name__
        hint = f"Give an instance: {kind}()." if isinstance(aggregate, type) else "Derive it from weft.UserAggregate."
        raise AggregateError(kind, "this is no aggregate of Weft's classes.", hint)
    if not isinstance(name, str) or not name.isascii() or not name.isidentifier():
        raise AggregateError(str(name) or type(aggregate).__name__, "it has no name that SQL can call.",
                             'Declare one of letters, digits and underscores: name = "spread".')
    check_declared(name, aggregate)
    try:
        takes, returns = tuple(map(spelled, aggregate.takes)), spelled(aggregate.returns)
    except (ValueError, AttributeError, TypeError) as error:
        raise AggregateError(name, f"{error}.") from error
    kinds = tuple(map(arrow_type, takes))
    return Definition(aggregate, name.lower(), takes, returns, kinds, arrow_type(returns))


def check_declared(name: str, aggregate: Declared) -> None:
    """Raises where a declaration is missing or does not fit the others."""
    if not isinstance(aggregate.takes, tuple) or not aggregate.takes:
        raise AggregateError(name, "it does not say what it takes.", 'Declare it: takes = ("double", "double").')
    if not aggregate.returns:
        raise AggregateError(name, "it does not say what it returns.", 'Declare it: returns = "double".')
    if not aggregate.commutative:
        raise AggregateError(name, "it is not declared commutative, and Spark's rows have no order.",
                             "Declare commutative = True if combine(a, b) is combine(b, a).")
    check_fields(name, aggregate)
    for template in aggregate.partials:
        check_template(name, template, len(aggregate.takes))


def check_fields(name: str, aggregate: Declared) -> None:
    """Raises where the state's fields, its identity and its partials are not as many."""
    try:
        does = aggregate.vectorized()
    except TypeError as error:
        raise AggregateError(name, f"its fields or its identity are not what they must be: {error}.",
                             'Declare them: fields = ("int64", "float64"), identity = (0, 0.0).') from error
    size = len(does.types)
    if not size or len(does.identity) != size:
        raise AggregateError(name, f"it has {size} fields and an identity of {len(does.identity)} values.",
                             "Declare one NumPy type and one value of the identity for each field of the state.")
    if aggregate.partials and len(aggregate.partials) != size:
        raise AggregateError(name, f"it has {size} fields and {len(aggregate.partials)} partials.",
                             "Give one Spark SQL aggregate for each field, or none.")


def check_template(name: str, template: str, arguments: int) -> None:
    """Raises where a partial's text refers to an argument that there is not."""
    try:
        named = [field for _, field, _, _ in Formatter().parse(template) if field is not None]
    except ValueError as error:
        raise AggregateError(name, f"the partial '{template}' cannot be read: {error}.") from error
    if any(not field.isdigit() or int(field) >= arguments for field in named):
        raise AggregateError(name, f"the partial '{template}' refers to an argument that there is not.",
                             f"Its arguments are {', '.join(f'{{{i}}}' for i in range(arguments))}.")
