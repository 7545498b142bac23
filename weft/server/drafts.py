"""Drafts: the project's queries in a loom that runs nothing, to check new ones and to price them beside the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from weft.stages.explain import Explanation

if TYPE_CHECKING:
    from weft.loom import Loom
    from weft.loom.plan import Plan

Bounds = Callable[[str], Mapping[str, Any]]  # what weft.toml says of a query: every, shed


class Drafts:
    """What the project wants, by name; one thread at a time uses it."""

    def __init__(self, loom: Loom, texts: Mapping[str, str], options: Mapping[str, Any], bounds: Bounds):
        self.loom, self._options, self._bounds = loom, options, bounds
        self.texts = dict(texts)

    def add(self, name: str, sql: str) -> None:
        """Check a query and keep it; raises where it cannot run."""
        self._bind(name, sql)
        self.texts = {**self.texts, name: sql}

    def drop(self, name: str) -> None:
        """Forget a query."""
        self.loom.drop(name)
        self.texts = {other: sql for other, sql in self.texts.items() if other != name}

    @contextmanager
    def with_query(self, name: str, sql: str) -> Iterator[None]:
        """A query in the loom, checked, for as long as the body runs; whoever looks at the drafts does not see it."""
        before = self.texts.get(name)
        self._bind(name, sql)
        try:
            yield
        finally:
            self.loom.drop(name) if before is None else self._bind(name, before)

    def _bind(self, name: str, sql: str) -> None:
        self.loom.query(name, sql, replace=name in self.texts, **self._bounds(name))

    def scheduled(self) -> tuple[str, ...]:
        """The queries that have a bound."""
        return tuple(query.name for query in self.loom.queries if query.every)

    def plan(self, names: Iterable[str] | None = None) -> Plan:
        """The plan of some of the queries, or all."""
        return self.loom.plan(names, **self._options)

    def explain(self, names: Iterable[str] | None = None) -> Explanation:
        """The plan of some of the queries, explained."""
        return self.plan(names).explain()

    def price(self, name: str, sql: str) -> dict[str, Any]:
        """What a query would cost beside the others, and what of them it would use; raises where it cannot run."""
        others = [other for other in self.texts if other != name]
        before = self.plan(others) if others else None
        with self.with_query(name, sql):
            after = self.plan()
            return priced(name, after, before)

    def price_drop(self, name: str) -> dict[str, Any]:
        """What is left to pay where a query goes."""
        others = [other for other in self.texts if other != name]
        now, then = self.explain().to_dict(), self.explain(others).to_dict() if others else None
        return {"cost_before": now["cost"]["cost"], "cost_after": then["cost"]["cost"] if then else 0.0}


def priced(name: str, after: Plan, before: Plan | None) -> dict[str, Any]:
    """The price of a query in a plan, beside the plan without it."""
    data: dict[str, Any] = after.explain().to_dict()
    old: dict[str, Any] = before.explain().to_dict() if before else {"scans": (), "cost": {"cost": 0.0}}
    scan, tree = place_of(name, data)
    there = [one for one in old["scans"] if alike(one, scan)]
    needed = [str(component) for each in after.workload if each.query.name == name for component in each.components]
    held = [one for one in needed if any(one in other["components"] for other in there)]
    window = tree["reads"][name]
    return {
        **data["queries"][name], "cost_after": data["cost"]["cost"], "cost_before": old["cost"]["cost"],
        "source": scan["source"], "keys": scan["keys"], "window": window, "needs": needed, "shares": held,
        "shares_scan": bool(there),
        "shares_window": any(window in one["windows"] for other in there for one in other["trees"]),
    }


def place_of(name: str, data: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The scan and the tree that answer a query, of an explained plan."""
    return next((scan, tree) for scan in data["scans"] for tree in scan["trees"] if name in tree["reads"])


def alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two scans read the same rows by the same keys."""
    return all(one[key] == other[key] for key in ("source", "keys"))


def explain_query(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """What an explained plan says of one query: where it stands, with whom, and what it costs."""
    scan, tree = place_of(name, data)
    return {
        **data["queries"][name], "name": name, "window": tree["reads"][name], "source": scan["source"],
        "keys": scan["keys"], "where": scan["where"], "slices": tree["slices"], "scan": scan["id"], "tree": tree["id"],
        "components": scan["components"], "algorithms": tree["algorithms"],
        "tree_queries": tree["queries"], "scan_queries": [each for one in scan["trees"] for each in one["queries"]],
    }
