"""The last incremental plan of a loom: runs that follow one another are planned once, until something is another."""

from __future__ import annotations

from weft.catalog.database import Catalog
from weft.catalog.planning_snapshot import find_snapshot
from weft.loom.context import Context
from weft.loom.plan import Plan
from weft.loom.planning import PlanChoice, planning_mark, require_incremental, share_as_before
from weft.model.workload import Workload


class PlanMemory:
    """Makes the plans of incremental runs, or gives the last one again where all that decides it is as it was: the
    queries and sources themselves, what the user chose, what the catalog says was known of the sources, ANSI mode."""

    def __init__(self) -> None:
        self._plan: Plan | None = None
        self._choice, self._mark = PlanChoice(), ""
        self._decided: tuple | None = None

    def plan(self, context: Context, workload: Workload, choice: PlanChoice) -> Plan:
        """The plan by what was known when these queries were first run."""
        catalog = require_incremental(context, workload)
        if self._plan is None or not self._is_same(self._plan, context, workload, choice, catalog):
            self._plan = Plan.of(context, workload, share_as_before(context, workload, choice))
            self._choice, self._mark = choice, planning_mark(context, workload, choice)
            self._decided = (context.ansi, find_snapshot(catalog, self._mark))
        return self._plan

    def _is_same(self, plan: Plan, context: Context, workload: Workload, choice: PlanChoice,
                 catalog: Catalog) -> bool:
        """Whether planning again would make the same plan; queries and sources are values that never change."""
        if plan.context is not context or choice != self._choice or context.sizes.counted:
            return False
        if len(plan.workload) != len(workload) or any(a is not b for a, b in zip(plan.workload, workload, strict=True)):
            return False
        if any(context.sources[source.name] is not source for source in plan.sources):
            return False
        return self._decided == (context.ansi, find_snapshot(catalog, self._mark))
