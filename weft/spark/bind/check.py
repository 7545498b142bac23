"""Checking a query with Spark's own analyser: names and types of its outputs, types of its parts, its errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from uuid import uuid4

from pyspark.errors import (
    AnalysisException,
    ArithmeticException,
    DateTimeException,
    IllegalArgumentException,
    NumberFormatException,
    ParseException,
    PySparkException,
    SparkRuntimeException,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from weft.aggregates import AGGREGATES, Aggregate, Argument, BadArgument, Lowered, UnsupportedType, find
from weft.aggregates.component import GUARD
from weft.aggregates.defined import Definition
from weft.aggregates.joined import JOINED_ERRORS
from weft.aggregates.monoids import Monoid
from weft.aggregates.times import UNASKED, lower_times
from weft.errors import CheckError, Place, RefusedError
from weft.model.query import WINDOW, Call, Output, Query
from weft.model.statistics import Statistics
from weft.model.workload import BoundQuery
from weft.spark.bind.char_columns import used_char_key
from weft.spark.bind.functions import Functions, check_extension
from weft.spark.bind.known_types import KnownTypes, Names, row_parts
from weft.spark.session.settings import Settings
from weft.spark.session.version import require_supported
from weft.sql import Parsed
from weft.sql.copied import copied_text
from weft.sql.hints import hide_hints
from weft.sql.identity import Expressions
from weft.sql.joins import INPUT as INPUT_VIEW

SOURCE = "__weft_source__"
INPUT = re.compile(f"`{INPUT_VIEW.format('([^`]+)')}`")  # a source that a text joins
WEIGHABLE = ", ".join(aggregate.name for aggregate in AGGREGATES if aggregate.weigh)
BAG_WORDS = ("median", "percentile", "percentile_approx", "approx_percentile", "mode", "collect_list", "array_agg")
# What Spark raises while it analyses a text: it casts some literals there already.
WRONG = (AnalysisException, ArithmeticException, DateTimeException, IllegalArgumentException, NumberFormatException,
         ParseException, SparkRuntimeException)
# The parameters of Spark's analysis errors that say what the error is about.
NAMING = ("routineName", "functionName", "objectName", "fieldName", "sqlExpr")


class Checker:
    """Sources as views of one Spark session, and what is already known about expressions over them."""

    def __init__(self, spark: SparkSession):
        require_supported(spark)
        self.spark = spark
        self._views: dict[str, str] = {}
        self._frames: dict[str, DataFrame] = {}
        self._types = KnownTypes(lambda source, text: self.sql(source, text).schema)
        self._outputs: dict[tuple, Names] = {}
        self._expressions = Expressions()
        self._functions = Functions(spark)
        self.settings = Settings(spark)
        self._sortable: set[str] = set()
        self._extensions: dict[str, Aggregate] = {}
        self._monoids: dict[str, Monoid] = {}

    @property
    def defined(self) -> dict[str, Aggregate]:
        """The user's aggregates as the SQL reader knows them, by lower-case name."""
        own = {name: definition.function for name, definition in self._functions.definitions.items()}
        return own | self._extensions

    def define(self, definition: Definition) -> None:
        """Make a user's aggregate known to Spark by its name."""
        self._functions.add(definition)

    def extend(self, aggregate: Aggregate) -> None:
        """Let Weft run a function that Spark has and Weft does not."""
        for name in aggregate.names:
            check_extension(self.spark, name, self.defined)
        self._extensions |= {name.lower(): aggregate for name in aggregate.names}

    def register(self, name: str, frame: DataFrame) -> None:
        """Make a source known to Spark under a name that nobody else uses."""
        view = f"weft_{uuid4().hex}"
        frame.createOrReplaceTempView(view)
        self._views[name], self._frames[name] = view, frame
        self._expressions.register(name, {f.name: f.dataType.simpleString() for f in frame.schema.fields})

    def forget(self, name: str) -> None:
        """Let go of a source and of all that is known of expressions over it."""
        self.spark.catalog.dropTempView(self._views.pop(name))
        self._outputs.clear()
        self._types.forget(name)
        self._sortable.discard(name)
        self._expressions.forget(name)

    def keep(self, queries: Iterable[Query]) -> None:
        """Remember the texts of queries that run, so that others share them."""
        for query in queries:
            self._expressions.keep(query)

    def show(self, name: str, frame: DataFrame) -> None:
        """Let Spark find other rows of the same columns under a source's name."""
        frame.createOrReplaceTempView(self._views[name])
        self._frames[name] = frame

    def identity(self, source: str, text: str) -> str:
        """The canonical form of a text over a source."""
        return self._expressions.identity(source, text)

    def close(self) -> None:
        """Drop the views and functions."""
        self._functions.drop()
        for view in self._views.values():
            self.spark.catalog.dropTempView(view)
        self._views.clear()

    def native(self, query: Query) -> DataFrame:
        """The query as Spark itself runs it, its aggregates brought to the rows where Spark would not mix them."""
        if self._functions.mixes(query) and not query.window.counts_rows:
            return self.sql(query.source, self._functions.apart(query))
        return self.sql(query.source, query.native)

    def sql(self, source: str, text: str) -> DataFrame:
        """A SQL text over a source's view."""
        self._functions.claim()
        whole = text.replace(SOURCE, self._views.get(source, SOURCE))
        return self.spark.sql(INPUT.sub(lambda found: self._views[found[1]], whole))

    def learn(self, batch: Sequence[Parsed]) -> None:
        """Have Spark analyse all that `bind` will want to know of queries, in as few steps as it takes."""
        if any(self._known(parsed) is None for parsed in batch):
            self.settings.check()
            self._types.learn(batch)

    def bind(self, parsed: Parsed) -> BoundQuery:
        """The query with Spark's names and types, or the error Spark has with it."""
        outputs = self._analyse(parsed)
        query = self._expressions.shared(parsed.query)  # after the analysis: names and types are those of its own text
        pairs = zip(query.outputs, outputs, strict=True)
        named = tuple(Output(o.sql, o.name or name, kind) for o, (name, kind) in pairs)
        types = self._types_of(query)
        refuse_collations(query, types)
        refuse_char_keys(query, self._frames[query.source].schema)
        bound = BoundQuery(
            replace(query, outputs=named),
            types[query.time],
            tuple(types[key] for key in query.keys),
            tuple(lower_call(query, call, types, self.defined, self.identity) for call in query.calls),
            self._expressions.is_risky(query),
            weighted=self._weigh(query, types),
        )
        refuse_namesakes(bound, self._monoids)
        if query.window.counts_rows:
            self._require_order(query)
            bound = bind_row_window(bound, self._functions.call_text)
        self._keep(parsed, outputs, types)
        self._expressions.keep(query)
        return bound

    def _weigh(self, query: Query, types: dict[str, str]) -> tuple[Lowered, ...] | None:
        """The calls over rows behind a drop box, or a refusal of one that these do not tell."""
        if query.shed is None:
            return None
        refuse_weighing(query, self.defined)
        return tuple(lower_call(query, call, types, self.defined, self.identity, True) for call in query.calls)

    def _require_order(self, query: Query) -> None:
        """Refuse to count rows that Spark cannot sort by all of their columns; each source is asked once."""
        if query.source in self._sortable:
            return
        try:
            # What has a least value can be sorted.
            self._frames[query.source].select(*(F.min(F.expr(column)) for column in query.order))
        except AnalysisException as error:
            said = spark_error(query, error).reason
            reason = f"rows of one time are ordered by all columns, and Spark cannot sort '{query.source}' so: {said}"
            hint = "Register a source that has only the columns you need."
            raise RefusedError(query.name, reason, place=find_place(query.text, "ROWS"), hint=hint) from error
        self._sortable.add(query.source)

    def _known(self, parsed: Parsed) -> Names | None:
        """The names and types of a query's outputs, if Spark need not be asked."""
        shape = parsed.shape
        return self._types.outputs(parsed) or self._outputs.get(shape.loose) or self._outputs.get(shape.exact)

    def _analyse(self, parsed: Parsed) -> Names:
        known = self._known(parsed)
        if known is None and parsed.items is not None:
            self.learn((parsed,))
            known = self._known(parsed)
        return known or self._analyse_anew(parsed)

    def _keep(self, parsed: Parsed, outputs: Names, types: dict[str, str]) -> None:
        """Remember the names and types for queries of the same shape; what gives decimals makes every literal count."""
        hangs = any("decimal" in kind for kind in types.values())
        hangs = hangs or any(call.function in self.defined for call in parsed.query.calls)
        self._outputs[parsed.shape.exact if hangs else parsed.shape.loose] = outputs

    def _analyse_anew(self, parsed: Parsed) -> Names:
        self.settings.check()  # a shape that is known holds for the settings that the loom has met
        query = parsed.query
        try:
            schema = self.sql(query.source, parsed.probe).schema
            if not parsed.trusted and parsed.rendered != query.native:
                self._require_same(parsed)
        except WRONG as error:
            raise spark_error(query, error) from error
        return tuple((field.name, field.dataType.json()) for field in schema.fields)

    def _require_same(self, parsed: Parsed) -> None:
        """Refuse a query that Weft's reader would change the meaning of."""
        query = parsed.query
        if not self.native(query).sameSemantics(self.sql(query.source, parsed.rendered)):
            raise RefusedError(
                query.name,
                "Weft reads this SQL otherwise than Spark does.",
                place=Place(1, 1),
                hint=f"Write its expressions in a plainer way; Weft understood: {parsed.rendered}",
            )

    def _types_of(self, query: Query) -> dict[str, str]:
        source, parts = query.source, row_parts(query)
        known = self._types.types(source, parts)
        if unknown := [part for part in dict.fromkeys(parts) if part not in known]:
            asked = (f"{part} AS e{i}" for i, part in enumerate(unknown))
            self._types.keep(source, unknown, self._frames[source].selectExpr(*asked).schema)
        return self._types.types(source, parts)


def refuse_weighing(query: Query, defined: Mapping[str, Aggregate]) -> None:
    """Refuse a query that accepts errors where a part of the rows does not tell its answers."""
    if query.window.counts_rows:
        raise RefusedError(query.name, "a window that counts rows would count others if some were dropped.",
                           place=find_place(query.text, "ROWS"), hint=no_shedding(query))
    for call in query.calls:
        aggregate = defined.get(call.function) or find(call.function)
        if aggregate is not None and aggregate.weigh is None:
            name = call.function.split()[0]
            raise RefusedError(query.name, f"{call} of all rows cannot be told from a part of them.",
                               place=find_place(query.text, *(spelling.split()[0] for spelling in aggregate.names)),
                               hint=f"{no_shedding(query)} Rows may be dropped for {WEIGHABLE}, and not for {name}.")


def no_shedding(query: Query) -> str:
    """What to do where a query cannot do with a part of its rows."""
    if query.shed == inf:
        named = " and ".join(f"'{name}'" for name in query.inputs)
        return f"Add {named} under another name without drop=, and read that."
    return "Leave out shed, so that all rows are read."


def lower_call(query: Query, call: Call, types: dict[str, str], defined: Mapping[str, Aggregate],
               canonical: Callable[[str, str], str], weighted: bool = False) -> Lowered:
    """The call as components, over rows behind a drop box if `weighted`; or a refusal of its argument's type."""
    aggregate = defined.get(call.function) or find(call.function)
    assert aggregate is not None, call
    weigh = JOINED_ERRORS.get(aggregate.name, aggregate.weigh) if query.join else aggregate.weigh
    lower = weigh if weighted and weigh else aggregate.lower
    only = f" FILTER (WHERE {call.filter})" if call.filter else ""
    guard = f" FILTER (WHERE ({call.filter}) AND ({GUARD}))" if call.filter else f" FILTER (WHERE {GUARD})"
    args = tuple(Argument(a, types[a]) for a in call.args)
    place = find_place(query.text, *(name.split()[0] for name in aggregate.names))
    try:
        lowered, guarded = lower(args, only), lower(args, guard)
    except BadArgument as error:
        raise RefusedError(query.name, error.reason, place=place, hint=error.hint) from None
    except UnsupportedType as error:
        reason = f"{replace(call, filter=None)} over {error} does not run in Weft yet."
        raise RefusedError(query.name, reason, place=place, hint=error.hint) from None
    meant = lower(*canonical_call(query.source, call, types, canonical))
    trios = zip(lowered.components, guarded.components, meant.components, strict=True)
    return replace(lowered, components=tuple(replace(c, guarded=g.columns, lifts=g.lifts, meanings=m.columns)
                                             for c, g, m in trios))


def canonical_call(source: str, call: Call, types: dict[str, str],
                   canonical: Callable[[str, str], str]) -> tuple[tuple[Argument, ...], str]:
    """The arguments and the filter of a call in canonical form: the same for calls that mean the same."""
    only = f" FILTER (WHERE {canonical(source, call.filter)})" if call.filter else ""
    return tuple(Argument(canonical(source, a), types[a]) for a in call.args), only


def bind_row_window(bound: BoundQuery, call_text: Callable[[Call], str]) -> BoundQuery:
    """The query with what windows that count rows need: its text for Spark, and the window's times as components."""
    query, kind = bound.query, bound.time_type
    asked = any(WINDOW in text for text in (query.having or "", *(output.sql for output in query.outputs)))
    native, times = copied_text(query, kind, call_text), lower_times(query.time, kind)
    return replace(bound, query=replace(query, native=native), times=times if asked else UNASKED)


def refuse_namesakes(bound: BoundQuery, known: dict[str, Monoid]) -> None:
    """Refuse a monoid that bears the name of another one: components of one name are shared."""
    for monoid in (component.monoid for component in bound.components):
        other = known.setdefault(monoid.name, monoid)
        if other is not monoid and not (monoid.made_by and monoid.made_by == other.made_by):
            raise RefusedError(bound.query.name, f"there are two monoids of the name '{monoid}'.", place=Place(1, 1),
                               hint="Make a monoid once, and give each a name of its own.")


def refuse_large(bound: BoundQuery, found: Statistics | None, most: int) -> None:
    """Refuse a query that keeps all values of keys which, as measured, have more of them than a worker may hold."""
    held = found.rows / found.keys if found else 0.0
    for component in bound.components:
        if held > most and component.monoid.keeps_rows and "FILTER (WHERE" not in component.columns[0]:
            name = bound.query.name
            reason = (f"{component} keeps every value, and a key has {held:,.0f} rows on average: the bound is "
                      f"{most:,} (max_bag_values).")
            hint = "Group by more keys, filter rows, or make the Loom with a higher max_bag_values."
            raise RefusedError(name, reason, place=find_place(bound.query.text, *BAG_WORDS), hint=hint)


def refuse_collations(query: Query, types: dict[str, str]) -> None:
    """Refuse keys that are equal under a collation though their bytes differ: the kernels know bytes only."""
    for key in query.keys:
        if " collate " in types[key].lower():
            raise RefusedError(
                query.name,
                f"grouping by {key} of type {types[key]} does not run in Weft yet.",
                place=find_place(query.text, *re.findall(r"\w+", key)[-1:]),
                hint=f"Group by collate({key}, 'UTF8_BINARY') if bytes may decide.",
            )


def refuse_char_keys(query: Query, schema: StructType) -> None:
    """Refuse to compare a key that Spark pads, or to compute with it."""
    if key := used_char_key(query, schema):
        raise RefusedError(
            query.name,
            f"{key} is of type CHAR(n), and what is made of such a key after grouping does not run in Weft yet.",
            place=find_place(query.text, *re.findall(r"\w+", key)[-1:]),
            hint=f"Group by rtrim({key}) and use that, or put a condition on {key} into WHERE.",
        )


def find_place(text: str, *words: str) -> Place | None:
    """Where one of the words first stands in the text."""
    either = "|".join(re.escape(word) for word in words)
    found = re.search(rf"(?<![\w`])(?:{either})(?!\w)", hide_hints(text), re.IGNORECASE) if words else None
    if not found:
        return None
    before = text[: found.start()]
    return Place(before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)


def spark_error(query: Query, error: PySparkException) -> CheckError:
    """Spark's analysis error in one sentence, with the place of what it names."""
    named = error.getMessageParameters() or {}
    word = re.search(r"\w+", next((named[k] for k in NAMING if k in named), ""))
    message = str(error).strip().splitlines()[0]
    # Spark's position is one in the text that Weft gave it, not in the user's.
    sentence = re.sub(r"\s*SQLSTATE: \w+|;? line \d+ pos \d+", "", message).rstrip(" ;:.") + "."
    place = find_place(query.text, word[0]) if word else None
    return CheckError(query.name, sentence.replace(SOURCE, query.source), place=place)
