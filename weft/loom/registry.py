"""What a loom holds by name: sources, queries and the user's aggregates, each checked when it is added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace as changed
from math import inf
from os import PathLike
from os.path import abspath
from typing import TYPE_CHECKING, Self, TypeGuard

from weft.aggregates.base import Aggregate
from weft.aggregates.component import MAX_BAG_VALUES
from weft.aggregates.defined import define
from weft.aggregates.examples import example_columns
from weft.aggregates.laws import check_laws
from weft.aggregates.user import Declared
from weft.catalog.store import Store, open_store
from weft.errors import CatalogError, PlanError, QueriesError, QueryError, SourceError
from weft.io.sources import RowSource
from weft.loom.checks import check_queries, parse
from weft.loom.context import Context
from weft.loom.sizes import KnownSizes
from weft.loom.sources import NAME, Source, Sources
from weft.model.query import Query
from weft.model.workload import BoundQuery, choose
from weft.spark.bind.check import Checker, refuse_large
from weft.spark.bind.functions import check_name, check_partials
from weft.spark.session.session import active_or_local, has_session
from weft.sql.freshness import parse_bound

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Registry:
    """Sources, queries and aggregates, and the store that keeps what is known of them."""

    def __init__(self, spark: SparkSession | None = None, store: str | PathLike[str] | None = None,
                 max_bag_values: int = MAX_BAG_VALUES, every: str | None = None):
        if max_bag_values < 1:
            raise PlanError(f"max_bag_values must be a whole number above 0, not {max_bag_values}.")
        fresh = None if every is None else parse_bound(every)
        self._starts_session = spark is None and not has_session()
        self.spark = spark or active_or_local()
        checker = Checker(self.spark)
        sources = Sources(self.spark, checker)
        sizes = KnownSizes(sources.frames, sources.refresh_files, sources.parquet_files)
        self._context = Context(self.spark, checker, sources, sizes, max_bag_values, every=fresh)
        self._queries: dict[str, BoundQuery] = {}
        if store is not None:
            self.attach(store)

    @property
    def _store(self) -> Store | None:
        return self._context.store

    def attach(self, store: str | PathLike[str]) -> None:
        """Keep in a store what is registered, measured and run from now on, and plan with what is known there."""
        if self._store:
            raise CatalogError(f"this loom keeps its catalog in '{self._store.catalog.path}': make another loom.")
        self._context = changed(self._context, store=open_store(abspath(store), self._context.checker.identity))
        self._context.sizes.recall(self._queries.values(), self._store)

    def source(
        self,
        name: str,
        data: DataFrame | RowSource | str | PathLike[str],
        time: str | None = None,
        format: str | None = None,
        options: Mapping[str, str] | None = None,
        schema: str | None = None,
        watermark: str | None = None,
        replace: bool = False,
        drop: float = 0.0,
    ) -> None:
        """Add a source: a DataFrame, a path of Parquet, ORC, CSV or JSON, or a `RowSource`; `time` is its event time.

        With the format "kafka" the path is a topic, with "socket" a host and port; "rate" counts by itself. `schema`
        names the columns and types of what is read, where no file is there yet to look into. `watermark` says how late
        rows may come when the source is a stream ("10 minutes"). With `replace` a source that has the name already
        goes, and the queries that read it are checked against the new one: if one does not fit, all stays as it was.
        `drop` is the share of its rows that is dropped, for all its queries: with 0.25 a quarter of them. Counts, sums
        and averages are then estimates for all rows. See docs/shedding.md.
        """
        if name in self._context.sources and not replace:
            raise SourceError(f"there is already a source '{name}': choose another name, or give replace=True.")
        made, frame = self._context.sources.open(name, data, time, format, options, schema, watermark, drop)
        if name in self._context.sources:
            self._replace_source(made, frame)
        else:
            self._context.sources.put(made, frame)

    def _replace_source(self, made: Source, frame: DataFrame) -> None:
        sources, name = self._context.sources, made.name
        readers = [bound for bound in self._queries.values() if name in bound.query.inputs]
        joins = {each.query.source: sources[each.query.source] for each in readers if each.query.join}
        before = sources[name], sources.frames[name]
        sources.put(made, frame)
        try:
            bounds = {each.query.name: each.query.every for each in readers}
            errors = {each.query.name: each.query.shed for each in readers if is_bound(each.query.shed)}
            found = check_queries(self._context, {each.query.name: each.query.text for each in readers}, shed=errors)
            bound = [fresh_as(each, bounds[each.query.name]) for each in found]
        except BaseException as error:
            sources.put(*before)
            for joined in joins.values():
                sources.put_join(joined.origin, joined)
            self._context.checker.keep(each.query for each in readers)
            if not isinstance(error, QueriesError):
                raise
            first = error.errors[0]
            raise SourceError(f"source '{name}' is not replaced, for a query does not fit the new one: {first} "
                              f"Drop the query first, loom.drop('{first.query}'), or replace it.") from first
        for changed_source in (name, *joins):
            self._context.sizes.forget(changed_source)
        self._context.sizes.recall(bound, self._store)
        self._queries |= {each.query.name: each for each in bound}

    def query(self, name: str, sql: str, replace: bool = False, every: str | None = None,
              shed: str | float | None = None) -> Query:
        """Add a query, or raise an error that says where and why it cannot run and what to write instead.

        With `replace` a query that has the name already goes, if the new one can run. `every` is the longest time
        between two of its answers ("5 minutes"), which SQL may also say by the hint EVERY: it changes when answers
        come, never what they are. See docs/schedules.md. `shed` is the relative error that you accept ("2%"), which SQL
        may also say by the hint SHED: then rows may be dropped as far as that allows. See docs/shedding.md.
        """
        self._require_free(name, replace)
        bound = self._fresh(self._context.checker.bind(parse(self._context, name, sql, every, shed)))
        self._require_small(bound)
        self._add((bound,))
        return bound.query

    def add_queries(self, queries: Mapping[str, str], replace: bool = False,
                    every: Mapping[str, str] | None = None,
                    shed: Mapping[str, str | float] | None = None) -> tuple[Query, ...]:
        """Add many queries, the SQL of each by its name, all or none; Spark checks them together, which is faster.

        `every` has the longest time between two answers of some of them, by name, and `shed` the errors that are
        accepted. If some cannot run, the `errors` of the `QueriesError` have what is wrong with each, as `query` would
        raise it.
        """
        for what, bounds in (("every", every), ("shed", shed)):
            for name in (name for name in bounds or () if name not in queries):
                raise QueryError(name, f"{what}= has a bound for it, and it is no query of these.",
                                 hint="Check the name.")
        found = check_queries(self._context, queries, lambda name: self._require_free(name, replace),
                              self._require_small, every or {}, shed or {})
        bound = [self._fresh(each) for each in found]
        self._add(bound)
        return tuple(each.query for each in bound)

    def _require_free(self, name: str, replace: bool) -> None:
        if not NAME.fullmatch(name):
            raise QueryError(name, "this cannot name a query.", hint="Use letters, digits, '_', '-' and '.'.")
        if name in self._queries and not replace:
            raise QueryError(name, "there is already a query of this name.",
                             hint="Choose another name, or give replace=True.")

    def _fresh(self, bound: BoundQuery) -> BoundQuery:
        """The query with the loom's bound if it has none of its own."""
        return bound if bound.query.every else fresh_as(bound, self._context.every)

    def _require_small(self, bound: BoundQuery) -> None:
        refuse_large(bound, self._context.sizes.of(bound), self._context.max_bag_values)

    def _add(self, added: Sequence[BoundQuery]) -> None:
        if self._store:
            self._store.register(bound.query for bound in added)
            self._context.sizes.recall(added, self._store)
        self._queries |= {bound.query.name: bound for bound in added}

    def drop(self, name: str) -> None:
        """Take a query away; its history stays in the catalog, and plans that were made with it stay as they are."""
        choose(self._queries, [name])
        if self._store:
            self._store.remove(name)
        del self._queries[name]

    def aggregate(self, aggregate: Declared | Aggregate) -> None:
        """Add an aggregate of the user's own, which SQL then calls by its name, or raise an error that shows why not.

        Its laws are checked on example values first; see docs/aggregates.md. A `weft.extend.Aggregate` says how Weft
        runs a function that Spark knows and Weft does not.
        """
        checker = self._context.checker
        if isinstance(aggregate, Aggregate):
            checker.extend(aggregate)
            return
        definition = define(aggregate)
        columns = example_columns(definition)
        check_name(self.spark, definition, checker.defined)
        check_laws(definition, columns)
        check_partials(self.spark, definition, columns)
        checker.define(definition)

    @property
    def queries(self) -> tuple[Query, ...]:
        """The queries added so far."""
        return tuple(bound.query for bound in self._queries.values())

    def close(self) -> None:
        """Drop what Weft made in the Spark session, let go of the store, and stop the session if this loom started it.

        A session that was there before stays. So do the streams in it, which have a `stop` of their own.
        """
        self._context.checker.close()
        if self._store:
            self._store.close()
        if self._starts_session:
            self._starts_session = False
            self.spark.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _chosen(self, names: Iterable[str] | None) -> tuple[BoundQuery, ...]:
        self._context.checker.settings.check()
        return tuple(choose(self._queries, names))

    def _current(self, names: Iterable[str] | None) -> tuple[BoundQuery, ...]:
        """The chosen queries, their sources as they are now."""
        found = self._chosen(names)
        self._context.sources.refresh(bound.query.source for bound in found)
        return found


def fresh_as(bound: BoundQuery, every: int | None) -> BoundQuery:
    """The query with another bound on the time between its answers."""
    return changed(bound, query=changed(bound.query, every=every))


def is_bound(shed: float | None) -> TypeGuard[float]:
    """Whether an error is bounded: what a source drops for all of its queries is not."""
    return shed is not None and shed < inf
