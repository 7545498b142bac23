"""What the catalog's tests share: an open catalog, a store over it, and plans recorded there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.catalog.queries import explained, identity
from weft.catalog.database import FILE, Catalog, open_catalog
from weft.catalog.store import Store
from weft.model.workload import BoundQuery


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """A new catalog."""
    with open_catalog(tmp_path / FILE) as made:
        yield made


@pytest.fixture
def store(catalog: Catalog) -> Store:
    """A store over the new catalog."""
    return Store(catalog, identity)


@pytest.fixture
def record(store: Store) -> Callable[..., int]:
    """Records the plan of queries, and gives its version."""
    def recorded(*queries: BoundQuery, **options: object) -> int:
        made = explained(*queries, **options)
        return store.record(made.plan.optimizer, [b.query for b in made.plan.queries], made.stages, lambda: made)

    return recorded
