"""What triggers take by Weft's model, of scans that serve queries only through groupings derived from them too."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.unit.stages.test_explain import MODEL, workload
from weft.loom import triggers
from weft.model.plan import Scan, SharedPlan, Tree


def test_a_scan_without_queries_of_its_own_has_a_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two groupings read the slices of a third that nobody asked for: `explain` of such a plan failed."""
    first, second = workload()[:2]
    derived = (Scan((Tree((first,)),)), Scan((Tree((second,)),)))
    plan = SharedPlan("tri_weave", (Scan((), derived, ("symbol", "exchange")),))
    monkeypatch.setattr(triggers, "model_of", lambda workload, samples: lambda bound: MODEL)
    asked = SimpleNamespace(workload=(first, second), nodes=plan.nodes, scans=plan.scans,
                            context=SimpleNamespace(sizes=SimpleNamespace(samples=None)))
    loads = list(triggers.map_loads(asked))  # type: ignore[arg-type]
    assert len(loads) == 3 and all(load.rows > 0 for load in loads)
