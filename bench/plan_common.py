"""What the benches of plans share: a policy run and priced, means over seeds, the command line, results on disk."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

from common import machine, save_json
from plan_page import publish, show

from weft.cost.model import PaperModel, find_technique
from weft.model.window import Window
from weft.optimize import EVERY_OPTIMIZER
from weft.optimize.problem import Problem, price_groups

OPTIMIZER = {o.name: o for o in EVERY_OPTIMIZER}
# What results call variants, those kept from before among them.
OPTIMIZER |= {"weave_polish": OPTIMIZER["weave_share:polish"], "local_search_ns_10x": OPTIMIZER["local_search"]}


def problem_of(windows: Sequence[Window], rate: float, technique: str = "panes", shared: bool = False,
               **more: Any) -> Problem:
    """Windows priced by the papers' model."""
    return Problem(tuple(windows), PaperModel(rate, find_technique(technique)), shared, **more)


def planned(policy: str, windows: Sequence[Window], rate: float, technique: str = "panes",
            seed: int = 0) -> dict[str, Any]:
    """What a policy's plan costs, how many trees it has, and the processor seconds it took to find."""
    optimizer = OPTIMIZER[policy]
    begun = time.thread_time()
    problem = problem_of(windows, rate, technique, optimizer.shared, seed=seed)
    groups = optimizer.group(problem)
    took = time.thread_time() - begun
    return {"policy": policy, "cost": price_groups(problem, groups).total, "trees": len(groups), "seconds": took}


def compared(windows: Sequence[Window], rate: float) -> dict[str, Any]:
    """Weave Share beside Shared: both costs, the one by the other, the trees."""
    woven, shared = (planned(policy, windows, rate) for policy in ("weave_share", "share_all"))
    return {"cost": woven["cost"], "shared": shared["cost"], "normalised": woven["cost"] / shared["cost"],
            "trees": woven["trees"], "seconds": woven["seconds"]}


def say(words: str) -> None:
    """Tells what is being measured."""
    print(f"{words} ...", file=sys.stderr, flush=True)


def arguments(doc: str | None, parser: argparse.ArgumentParser | None = None) -> argparse.Namespace:
    """The command line that the benches share."""
    parser = parser or argparse.ArgumentParser()
    parser.description = (doc or "").splitlines()[0]
    parser.add_argument("--quick", action="store_true", help="a small run that leaves the kept results alone")
    return parser.parse_args()


def results_for(options: argparse.Namespace, **facts: Any) -> dict[str, Any]:
    """Results yet to be filled: the machine and the parameters."""
    return {"machine": machine(), "quick": options.quick, **facts}


def finish(name: str, results: dict[str, Any]) -> None:
    """Shows the tables, keeps the raw results, and brings the page up to date if it was a full run."""
    show(name, results)
    print(f"raw results: {save_json(f'tmp/{name}' if results['quick'] else name, results)}")
    if not results["quick"]:
        print(f"page: {publish(name, results)}")
