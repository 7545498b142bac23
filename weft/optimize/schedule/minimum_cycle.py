"""The cycle of a graph of ages that costs least per unit of time: the minimum mean cycle, with waits of any length.

Lawler's idea with cycles of a policy, as in Howard's algorithm: with λ the cost per unit of a cycle that is known, a
step costs `cost − λ · wait`, and another cycle is cheaper exactly if it is negative. Values are relaxed until the steps
that are best now close a negative cycle, which becomes the known one, or until nothing changes: then there is none.
Whole numbers throughout, so the cycle is the best one exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from weft.optimize.schedule.ages import Step

Graph = Sequence[Sequence[Step]]


def minimum_cycle(graph: Graph) -> list[Step]:
    """The steps of the cheapest cycle; the graph's first node must have one back to itself."""
    best = [next(step for step in graph[0] if step.to == 0)]
    rate = cycle_rate(best)
    values, chosen = [0] * len(graph), [steps[0] for steps in graph]
    while relax(graph, rate, values, chosen):
        found = min(policy_cycles(chosen), key=cycle_rate)
        cheaper = cycle_rate(found)
        if cheaper < rate:  # any values may be relaxed from: those found so far, in the new denominator
            values = [value * cheaper.denominator // rate.denominator for value in values]
            best, rate = found, cheaper
    return best


def cycle_rate(cycle: Sequence[Step]) -> Fraction:
    """What a cycle costs per unit of time."""
    return Fraction(sum(step.cost for step in cycle), sum(step.wait for step in cycle))


def relax(graph: Graph, rate: Fraction, values: list[int], chosen: list[Step]) -> bool:
    """Lowers the value of each node to that of its best step, once around; says whether any was lowered."""
    cost, units, changed = rate.numerator, rate.denominator, False
    for node in reversed(range(len(graph))):  # steps lead to nodes that were found later, mostly
        for step in graph[node]:
            value = step.cost * units - cost * step.wait + values[step.to]
            if value < values[node]:
                values[node], chosen[node], changed = value, step, True
    return changed


def policy_cycles(chosen: Sequence[Step]) -> list[list[Step]]:
    """The cycles that one step a node leads into."""
    seen: dict[int, int] = {}
    cycles = []
    for start in range(len(chosen)):
        node = start
        while node not in seen:
            seen[node] = start
            node = chosen[node].to
        if seen[node] == start:
            cycles.append(cycle_from(chosen, node))
    return cycles


def cycle_from(chosen: Sequence[Step], node: int) -> list[Step]:
    """The cycle through a node."""
    cycle = [chosen[node]]
    while cycle[-1].to != node:
        cycle.append(chosen[cycle[-1].to])
    return cycle
