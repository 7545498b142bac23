"""What `weft what-if joins` says: a row a plan, the chosen one as a tree, sentences; and all of it for machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from rich.console import RenderableType

from weft.cli.tables import columns
from weft.cost.joins.estimate import JoinPlan, estimate, result_rates
from weft.cost.joins.left_deep import Order
from weft.cost.joins.problem import BY_KEYS, JoinProblem
from weft.model.window import ROW_COUNT, TIME
from weft.optimize.cost_breakdown import tidy
from weft.optimize.join_order import JoinOptimizer, choose_order
from weft.optimize.join_order.dynamic_programming import dynamic_programming
from weft.optimize.join_order.exhaustive import MOST
from weft.stages.join_picture import JoinLeaf, JoinTree, share_text, text_picture

SHOWN = 12


@dataclass(frozen=True)
class JoinReply:
    """The plans, best first, and the one that the optimizer chose."""

    problem: JoinProblem
    optimizer: JoinOptimizer
    plans: tuple[JoinPlan, ...]
    chosen: JoinPlan


def order_text(problem: JoinProblem, order: Order) -> str:
    """An order as one word: ABC, or orders-trades-users."""
    names = [problem.streams[number].name for number in order]
    return ("" if all(len(name) == 1 for name in names) else "-").join(names)


def kept_by_name(problem: JoinProblem, plan: JoinPlan) -> dict[str, float]:
    """The kept share of each stream, in the order of the question."""
    shares = dict(zip(plan.order, plan.keep, strict=True))
    return {stream.name: shares[number] for number, stream in enumerate(problem.streams)}


def to_dict(reply: JoinReply) -> dict[str, Any]:
    """The reply for machines."""
    problem = reply.problem
    return {
        "optimizer": reply.optimizer.name,
        "windows": problem.windows,
        "shed": problem.shed_by,
        "join_ms": tidy(problem.cost.of_left * 1000),
        "cores": problem.capacity,
        "cross_products": problem.cross_products,
        "streams": [{"name": s.name, "rate": tidy(s.rate), "window": tidy(s.window)} for s in problem.streams],
        "selectivity": {f"{p.left}-{p.right}": p.selectivity for p in problem.predicates},
        "full_output": tidy(full_output(reply)),
        "plans": [plan_dict(problem, plan) for plan in reply.plans],
        "best": order_text(problem, reply.chosen.order),
        "chosen": plan_dict(problem, reply.chosen),
        "notes": list(notes(reply)),
    }


def plan_dict(problem: JoinProblem, plan: JoinPlan) -> dict[str, Any]:
    """One plan for machines; `drop` has the share that is kept."""
    return {
        "order": order_text(problem, plan.order),
        "streams": [problem.streams[number].name for number in plan.order],
        "cost": tidy(plan.cost),
        "utilisation": tidy(plan.utilisation),
        "utilisation_after_drop": tidy(plan.used),
        "feasible": plan.feasible,
        "drop": {name: tidy(share) for name, share in kept_by_name(problem, plan).items()},
        "output": tidy(plan.output),
    }


def full_output(reply: JoinReply) -> float:
    """Rows a second if nothing is dropped, which is the same for all orders (004 Obs. 1)."""
    chosen = reply.chosen
    return estimate(reply.problem, chosen.order, (1.0,) * len(chosen.order)).output


def pages(reply: JoinReply) -> Iterator[RenderableType]:
    """All that people read: a row a plan, the chosen one as a tree, then sentences."""
    table = columns("order", "rows/s into joins", "utilisation", "keeps", "output rows/s")
    for plan in reply.plans[:SHOWN]:
        table.add_row(order_text(reply.problem, plan.order), figure(plan.cost), f"{figure(100 * plan.utilisation)} %",
                      keeps(reply.problem, plan), figure(plan.output))
    yield table
    if len(reply.plans) > SHOWN:
        yield f"and {len(reply.plans) - SHOWN:,} more orders, which --json lists.\n"
    if len(reply.problem.streams) > MOST:
        yield f"All other orders of more than {MOST} streams are too many to list.\n"
    yield from sentences(reply)


def keeps(problem: JoinProblem, plan: JoinPlan) -> str:
    """What drop boxes keep, in a few words."""
    dropped = [f"{name} {share_text(share)}" for name, share in kept_by_name(problem, plan).items() if share < 1]
    return ", ".join(dropped) if dropped else "all"


def sentences(reply: JoinReply) -> Iterator[str]:
    """The chosen plan: its tree, what it gives, and what is to be known of it."""
    yield text_picture(tree_of(reply))
    yield ""
    yield verdict(reply)
    yield from notes(reply)


def verdict(reply: JoinReply) -> str:
    """What the chosen plan takes and gives."""
    chosen, name = reply.chosen, order_text(reply.problem, reply.chosen.order)
    found = f"{reply.optimizer.title}: {name}"
    used, given = f"{figure(100 * chosen.utilisation)} %", figure(chosen.output)
    if set(chosen.keep) == {1.0}:
        return f"{found} keeps up with {used} of the machine; {given} rows/s come out."
    whole = full_output(reply)
    return (f"{found} needs {used} of the machine. With drop boxes it gives {given} of {figure(whole)} rows/s "
            f"({share_text(chosen.output / whole)}).")


def notes(reply: JoinReply) -> Iterator[str]:
    """What is to be known of a plan that drops rows."""
    if set(reply.chosen.keep) == {1.0}:
        return
    yield from cheapest_note(reply)
    if reply.problem.windows == ROW_COUNT:
        yield stale_note(reply)
    elif reply.problem.shed_by == BY_KEYS:
        yield ("Dropping by keys needs one key that all joins are on; by that key itself nothing can be grouped, since "
               "most groups would be missing.")
    else:
        yield keys_note(reply)


def cheapest_note(reply: JoinReply) -> Iterator[str]:
    """That the order which takes least is not the one to drop from, where that is so (004 §4.2.2)."""
    cheapest = min(reply.plans, key=lambda plan: plan.cost)  # of one plan only, where the rest is too much to list
    if cheapest.output < reply.chosen.output * (1 - 1e-9):
        yield (f"{order_text(reply.problem, cheapest.order)}, the order that takes least, would give only "
               f"{figure(cheapest.output)} rows/s.")


def stale_note(reply: JoinReply) -> str:
    """What dropping does to windows of rows, which the paper passes over."""
    kept = kept_by_name(reply.problem, reply.chosen)
    frozen = [name for name, share in kept.items() if share <= 0]
    never = f" The window of {' and of '.join(frozen)} never changes at all." if frozen else ""
    return ("Note: windows of rows stay full while rows are dropped, so they hold rows that are long out of date, and "
            f"the output is no part of the full answer.{never} With --windows {TIME} it would be a part of it.")


def keys_note(reply: JoinReply) -> str:
    """What dropping by keys would give, for which dynamic programming finds the best order."""
    plan = choose_order(dynamic_programming, replace(reply.problem, shed_by=BY_KEYS))
    return (f"If all joins are on one key, --shed {BY_KEYS} gives {figure(plan.output)} rows/s "
            f"({order_text(reply.problem, plan.order)}, {share_text(min(plan.keep))} of the keys).")


def figure(value: float) -> str:
    """A number in about four digits, and whole thousands."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def tree_of(reply: JoinReply) -> JoinTree:
    """The chosen plan to draw."""
    problem, plan = reply.problem, reply.chosen
    unit = "rows" if problem.windows == ROW_COUNT else "s"
    streams = [problem.streams[number] for number in plan.order]
    leaves = tuple(JoinLeaf(s.name, f"{figure(s.rate)} rows/s, window {figure(s.window)} {unit}", share)
                   for s, share in zip(streams, plan.keep, strict=True))
    rates = result_rates(problem, plan)
    joins = tuple((order_text(problem, plan.order[: place + 1]), f"{figure(rates[place])} rows/s")
                  for place in range(1, len(plan.order)))
    return JoinTree(leaves, joins)
