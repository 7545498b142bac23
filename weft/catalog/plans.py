"""Plan versions: what was planned when, by which optimizer, at what cost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from weft.catalog.clock import now
from weft.catalog.database import Catalog


@dataclass(frozen=True)
class PlanVersion:
    """One version of the plan, as `explain` shows it; `digest` tells plans that run differently."""

    version: int
    made: str
    optimizer: str
    cost: float
    digest: str
    explanation: dict[str, Any]


def plans(catalog: Catalog) -> list[PlanVersion]:
    """Every version, the oldest first."""
    sql = "SELECT version, made, optimizer, cost, digest, explanation FROM plans ORDER BY version"
    return [PlanVersion(version, made, optimizer, cost, digest, json.loads(explanation))
            for version, made, optimizer, cost, digest, explanation in catalog.rows(sql)]


def last_plan(catalog: Catalog) -> tuple[int, str] | None:
    """The version and the digest of the last plan."""
    found = catalog.rows("SELECT version, digest FROM plans ORDER BY version DESC LIMIT 1")
    return (found[0][0], found[0][1]) if found else None


def keep_plan(catalog: Catalog, optimizer: str, digest: str, cost: float, explanation: dict[str, Any]) -> int:
    """The version of a plan that is new."""
    sql = "INSERT INTO plans (made, optimizer, cost, digest, explanation) VALUES (?, ?, ?, ?, ?)"
    return catalog.change(sql, (now(), optimizer, cost, digest, json.dumps(explanation)))
