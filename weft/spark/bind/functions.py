"""User-defined aggregates as functions of Spark: for its analyser, and as the oracle that Weft is compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from weft.aggregates import Aggregate, find
from weft.aggregates.alike import equal, plain, shown, value_at
from weft.aggregates.base import Argument
from weft.aggregates.defined import Definition, collected, lower_defined
from weft.aggregates.laws import ROUNDING
from weft.aggregates.monoids import MONOIDS
from weft.aggregates.operation import State
from weft.errors import AggregateError
from weft.model.query import CALL, KEY, WINDOW, Call, Query
from weft.spark.session.version import USER_AGGREGATES, find_lack
from weft.spark.stages.final import type_named
from weft.sql.render import SOURCE, can_be_called, quoted, window_call

# Its stubs do not know that a function's own type hints tell what kind it is, and PySpark 4.0 has none.
ARROW_UDF: Any = getattr(F, "arrow_udf", None)
# Whose aggregate a session calls by a name: several looms of one session may define the same name.
OWNERS: WeakKeyDictionary[SparkSession, dict[str, Definition]] = WeakKeyDictionary()


class Functions:
    """The user's aggregates of one loom, registered with Spark when a text is about to call them."""

    def __init__(self, spark: SparkSession):
        self.spark = spark
        self.definitions: dict[str, Definition] = {}
        self._over_lists: dict[str, str] = {}

    def add(self, definition: Definition) -> None:
        """Make an aggregate known by its name, and by another name over lists of rows."""
        if lack := find_lack(USER_AGGREGATES):
            raise AggregateError(definition.name, lack, USER_AGGREGATES.instead)
        self.definitions[definition.name] = definition
        over_lists = f"weft_{uuid4().hex}"
        self.spark.udf.register(over_lists, ARROW_UDF(over_each_list(definition), type_named(definition.returns)))
        self._over_lists[definition.name] = over_lists
        self.claim()

    def claim(self) -> None:
        """Let Spark call this loom's aggregates by their names, whatever another loom has made of these since."""
        owned = OWNERS.setdefault(self.spark, {})
        for name, definition in self.definitions.items():
            if owned.get(name) is not definition:
                self.spark.udf.register(name, ARROW_UDF(over_rows(definition), type_named(definition.returns)))
                owned[name] = definition

    def drop(self) -> None:
        """Take the functions away from Spark, those of other looms left alone."""
        owned = OWNERS.setdefault(self.spark, {})
        mine = [name for name, definition in self.definitions.items() if owned.get(name) is definition]
        for name in (*mine, *self._over_lists.values()):
            self.spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")
            owned.pop(name, None)
        self.definitions.clear()
        self._over_lists.clear()

    def mixes(self, query: Query) -> bool:
        """Whether the query has aggregates of the user's beside Spark's, which Spark does not run together."""
        return len({call.function in self.definitions for call in query.calls}) > 1

    def apart(self, query: Query) -> str:
        """The query for Spark to run: calls below, each user's aggregate over the list of its rows, outputs above."""
        window = window_call(query.time, query.window)
        keys = [f"{key} AS {KEY.format(i)}" for i, key in enumerate(query.keys)]
        calls = [f"{self.call_text(call)} AS {CALL.format(i)}" for i, call in enumerate(query.calls)]
        rows = f" WHERE {query.where}" if query.where else ""
        grouped = f"GROUP BY {', '.join([*query.keys, window])}"
        below = f"SELECT {', '.join([*keys, f'{window} AS {WINDOW}', *calls])} FROM {SOURCE}{rows} {grouped}"
        outputs = ", ".join(f"{output.sql} AS {quoted(output.name)}" for output in query.outputs)
        return f"SELECT {outputs} FROM ({below})" + (f" WHERE {query.having}" if query.having else "")

    def call_text(self, call: Call) -> str:
        """A call as Spark runs it beside its own aggregates."""
        if call.function in self.definitions:
            return f"{self._over_lists[call.function]}({collected(call.args, ())})"
        return str(call)


def over_rows(definition: Definition) -> Callable[..., Any]:
    """The aggregate as Spark calls it: a column for each argument in, one answer out, as its type hints say."""

    def aggregate(*columns: pa.Array) -> Any:
        return definition.answers(fold_rows(definition, columns))[0].as_py()

    return aggregate


def over_each_list(definition: Definition) -> Callable[[pa.Array], pa.Array]:
    """The aggregate as a function of lists of rows."""

    def aggregate(lists: pa.Array) -> pa.Array:
        found = [fold_rows(definition, columns_of(item.values, definition)) for item in lists]
        answers = [definition.answers(state) for state in found]
        return pa.concat_arrays(answers) if answers else pa.array([], definition.answer)

    return aggregate


def columns_of(rows: pa.Array, definition: Definition) -> Sequence[pa.Array]:
    """The arguments' columns of rows in a list."""
    return rows.flatten() if len(definition.takes) > 1 else [rows]


def fold_rows(definition: Definition, columns: Sequence[pa.Array]) -> State:
    """The state of all rows without a null, one row after another pair by pair, without any of Weft's slices."""
    valid = np.logical_and.reduce([column.is_valid().to_numpy(zero_copy_only=False) for column in columns])
    kept = [column.filter(pa.array(valid)).cast(kind)
            for column, kind in zip(columns, definition.arguments, strict=True)]
    if not valid.any():
        return definition.operation.empty(definition.types, 1)
    return definition.operation.reduce_runs(definition.state_of(kept), np.array([0]))


def check_name(spark: SparkSession, definition: Definition, defined: Mapping[str, Aggregate]) -> None:
    """Raises where SQL could not call the aggregate by its name, or would call another function."""
    name = definition.name
    if name in defined:
        raise AggregateError(name, "there is already an aggregate of this name.", "Choose another name.")
    if not can_be_called(name) or name.startswith("__"):
        raise AggregateError(name, "SQL cannot call a function of this name.", "Choose another name.")
    taken = find(name) or any(name == monoid.name for monoid in MONOIDS)
    owned = name in OWNERS.get(spark, {})
    if taken or (not owned and spark.catalog.functionExists(name)):
        raise AggregateError(name, "Spark or Weft has a function of this name.", "Choose another name.")


def check_extension(spark: SparkSession, name: str, defined: Mapping[str, Aggregate]) -> None:
    """Raises where a function is there already, or is none of Spark's, whose answers Weft's must equal."""
    if find(name) or name.lower() in defined:
        raise AggregateError(name, "there is already an aggregate of this name.", "Choose another name.")
    if not can_be_called(name) or not spark.catalog.functionExists(name):
        raise AggregateError(name, "Spark has no function of this name, so nothing says what its answers are.",
                             "Register it with spark.udf, or derive it from weft.UserAggregate.")


def check_partials(spark: SparkSession, definition: Definition, columns: Sequence[pa.Array]) -> None:
    """Raises where Spark's partials of example rows, some with nulls, are not the state that lift and combine give."""
    if not definition.aggregate.partials:
        return
    rows = with_nulls(columns)
    table = pa.table([np.arange(len(rows[0])) // 5, *rows], names=["g", *(f"a{i}" for i in range(len(rows)))])
    args = tuple(Argument(f"a{i}", kind) for i, kind in enumerate(definition.takes))
    texts = lower_defined(definition, args, "").components[0].columns
    try:
        found = spark.createDataFrame(table).groupBy("g").agg(*map(F.expr, texts)).toArrow().sort_by("g")
        state = definition.slices([column.combine_chunks() for column in found.columns[1:]])
    except (PySparkException, pa.ArrowException) as error:
        said = str(error).strip().splitlines()[0].rstrip(". ")
        wrong = f"Spark cannot compute its partials {', '.join(texts)}: {said}."
        raise AggregateError(definition.name, wrong) from error
    for group in range(len(state[0])):
        part = [column.slice(5 * group, 5) for column in rows]
        wanted = fold_rows(definition, part)
        if not equal(value_at(state, group), value_at(wanted, 0), rounding=ROUNDING):
            shape = ", ".join(plain(tuple(row)) for row in zip(*(c.to_pylist() for c in part), strict=True))
            raise AggregateError(definition.name, f"its partials are not the state that lift and combine give: of the "
                                 f"rows {shape} Spark makes {shown(state, group)}, and they {shown(wanted, 0)}.",
                                 "Rows with a null argument are left out.")


def with_nulls(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """The columns with some nulls in each, and a group of five rows that are null in all."""
    size = len(columns[0])
    place = np.arange(size)
    gone = [(place % (7 + i) == 3 + i) | ((place >= 5) & (place < 10)) for i in range(len(columns))]
    return [pa.array(column.to_pylist(), column.type, mask=mask) for column, mask in zip(columns, gone, strict=True)]
