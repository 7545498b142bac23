"""The store: a folder whose catalog a loom reads when it plans, and writes when it registers, measures and runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from weft.catalog.database import FILE, Catalog, open_catalog
from weft.catalog.expressions import find_expression, find_set, keep_expression, keep_set
from weft.catalog.plans import keep_plan, last_plan
from weft.catalog.record import Identity, digest_plan, node_of, place_nodes
from weft.catalog.registrations import find_registration, keep_registration, remove_registration, use_plan
from weft.catalog.statistics import MeasuredGrouping, Origin, Sizes, keep_sizes, sizes_of, to_whole
from weft.model.graph import StageGraph
from weft.model.query import Query
from weft.model.stages import PartialStage
from weft.model.statistics import Statistics
from weft.stages.explain import Explanation


class CatalogWarning(UserWarning):
    """A run is done, and the catalog could not keep what it found out."""


@dataclass(frozen=True)
class Rows:
    """Rows of a source that pass a predicate, by time and keys, in SQL."""

    source: str
    where: str | None
    time: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Store:
    """A catalog, and the canonical forms by which it knows expressions."""

    catalog: Catalog
    identity: Identity

    def register(self, queries: Iterable[Query]) -> dict[str, int]:
        """The registrations of queries by name, all made in one transaction; what is registered already stays."""
        known = {q: find_registration(self.catalog, q.name, q.text, q.source) for q in queries}
        if None in known.values():
            with self.catalog.changing():
                known = {query: self._register(query) for query in known}
        return {query.name: id for query, id in known.items() if id is not None}

    def _register(self, query: Query) -> int:
        found = find_registration(self.catalog, query.name, query.text, query.source)
        if found is not None:
            return found
        made = keep_registration(self.catalog, query.name, query.text, query.source, query.window)
        for role, number, text in split_key(query):
            use_plan(self.catalog, made, role, number, self._expression(query.source, text))
        return made

    def remove(self, name: str) -> None:
        """Take a query away, if it is there; what it was stays known."""
        remove_registration(self.catalog, name)

    def known(self, rows: Rows) -> Statistics | None:
        """What was found out about these rows before, if it is enough to plan with."""
        grouping = self._find(rows)
        return to_whole(sizes_of(self.catalog, grouping)) if grouping else None

    def keep(self, found: Iterable[tuple[Rows, Sizes]], origin: Origin) -> None:
        """Put down what was found out about rows, in one transaction."""
        with self.catalog.changing():
            for rows, sizes in found:
                keep_sizes(self.catalog, self._grouping(rows), origin, sizes)

    def keep_run(self, found: Iterable[tuple[PartialStage, int, Sizes]]) -> None:
        """Put down the sizes that a run found of partial stages, for each of their predicates by its number."""
        with self.catalog.changing():
            for partial, number, sizes in found:
                rows = Rows(partial.source, partial.predicates[number], partial.time, partial.keys)
                keep_sizes(self.catalog, self._grouping(rows), Origin.RUN, sizes, self._node(partial))

    def record(self, optimizer: str, queries: Iterable[Query], stages: StageGraph,
               explain: Callable[[], Explanation]) -> int:
        """The version of a plan, a new one if it runs otherwise than the last; `explain` makes what is kept."""
        sign = digest_plan(optimizer, stages)
        # Explaining takes long: it should be done before others wait to write.
        explained = None if self._last(sign) else explain()
        with self.catalog.changing():
            registered = self.register(queries)
            made = {node.id: self._node(node.stage) for node in stages.slices}
            version = self._last(sign) or self._version(sign, explained or explain())
            place_nodes(self.catalog, version, stages, made, registered)
        return version

    def _version(self, sign: str, made: Explanation) -> int:
        return keep_plan(self.catalog, made.plan.optimizer, sign, made.account.cost, made.to_dict())

    def _last(self, sign: str) -> int | None:
        """The version of the last plan, if it has this digest."""
        last = last_plan(self.catalog)
        return last[0] if last and last[1] == sign else None

    def close(self) -> None:
        """Close the catalog."""
        self.catalog.close()

    def _node(self, partial: PartialStage) -> int:
        return node_of(self.catalog, self.identity, partial)

    def _expression(self, source: str, text: str) -> int:
        return keep_expression(self.catalog, source, self.identity(source, text), text)

    def _grouping(self, rows: Rows) -> MeasuredGrouping:
        """The rows in ids, which are known from now on."""
        def kept(text: str) -> int:
            return self._expression(rows.source, text)

        keys = keep_set(self.catalog, rows.source, map(kept, rows.keys))
        return MeasuredGrouping(rows.source, kept(rows.where) if rows.where else None, kept(rows.time), keys)

    def _find(self, rows: Rows) -> MeasuredGrouping | None:
        """The rows in ids, if all of their expressions are known."""
        def known(text: str) -> int | None:
            return find_expression(self.catalog, rows.source, self.identity(rows.source, text))

        time, where = known(rows.time), known(rows.where) if rows.where else None
        members = [id for id in map(known, rows.keys) if id is not None]
        keys = find_set(self.catalog, rows.source, members)
        if time is None or keys is None or len(members) < len(rows.keys) or (rows.where and where is None):
            return None
        return MeasuredGrouping(rows.source, where, time, keys)


def split_key(query: Query) -> Iterator[tuple[str, int, str]]:
    """The expressions of a query, each with what it is and its number among those."""
    yield "time", 0, query.time
    if query.where:
        yield "where", 0, query.where
    yield from (("key", number, key) for number, key in enumerate(query.keys))
    yield from (("argument", i, arg) for i, arg in enumerate(a for call in query.calls for a in call.args))
    yield from (("filter", i, only) for i, only in enumerate(c.filter for c in query.calls if c.filter))


def open_store(folder: str | PathLike[str], identity: Identity) -> Store:
    """The store in a folder, made if there is none."""
    return Store(open_catalog(Path(folder) / FILE), identity)
