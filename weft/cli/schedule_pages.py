"""What people read of schedules: a table, a picture of each, and sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from weft.cli.schedule_reply import PolicyReply, Reading, Reply
from weft.cli.tables import columns, few
from weft.cli.timeline import axis, bound_text, frame_of, legend, length, marks, timeline
from weft.optimize.schedule import ScheduleProblem
from weft.optimize.schedule.figures import GroupFigures
from weft.optimize.schedule.problem import MINUTE

SHOWN = 12  # groups in tables and pictures
SPED = 4  # groups that are sped up, by name


def pages(reply: Reply) -> Iterator[RenderableType]:
    """Costs, then how it goes under the capacity if there is one, the groups, the pictures, and what to make of it."""
    yield cost_table(reply)
    if reply.capacity is not None:
        yield capacity_table(reply)
    yield group_table(reply, "max gap", lambda group: group.longest_gap)
    yield group_table(reply, "avg age", lambda group: group.mean_age)
    yield from pictures(reply)
    yield from sentences(reply)


def cost_table(reply: Reply) -> Table:
    """A row a policy: its cost, its runs, and which groups it runs sooner than they must."""
    table = columns("policy", "cost/min", f"runs in {length(reply.horizon)}", "repeats after", "sped up")
    for one in reply.policies:
        sped = [f"{name_of(reply, up.group)} to {length(up.every)}" for up in one.sped_up]
        mark = "" if not one.rate.error else f" ± {one.rate.error * MINUTE:.2g}"
        table.add_row(one.policy.name, f"{float(one.rate.per_minute):.6g}{mark}",
                      f"{round(one.rate.runs * reply.horizon):,}", length(one.schedule.period),
                      few(sped, SPED) or "–")
    return table


def capacity_table(reply: Reply) -> Table:
    """A row a policy: how busy the machine is, what is executed, and which bounds are missed."""
    table = columns("policy", "busy", "executed/min", "apart", "missed bounds")
    rows = {**{one.policy.name: one.loaded for one in reply.policies}, "(no schedule)": reply.alone}
    for name, loaded in rows.items():
        if loaded:
            capacity_row(table, name, loaded.merged, loaded.apart)
    return table


def capacity_row(table: Table, name: str, merged: Reading, apart: Reading) -> None:
    """One row; what is executed apart stands beside what late and due groups do together."""
    runs = sum(group.runs for group in merged.groups)
    missed = Text(f"{merged.missed:,} of {runs:,}", "red" if merged.missed else "green")
    table.add_row(name, f"{merged.utilisation:.0%}", f"{merged.executions_per_minute:.3g}",
                  f"{apart.executions_per_minute:.3g}", missed)


def group_table(reply: Reply, title: str, value: Callable[[GroupFigures], Fraction | int | None]) -> Table:
    """A row a group, a column a policy: a time, red where a gap is longer than the bound."""
    table = columns(title, "bound", *(one.policy.name for one in reply.policies))
    for g, group in enumerate(reply.problem.groups[:SHOWN]):
        found = [value(one.groups[g]) for one in reply.policies]
        gaps = [one.groups[g].longest_gap for one in reply.policies]
        cells = [Text("–" if time is None else length(time), "" if gap is None or gap <= group.bound else "red")
                 for time, gap in zip(found, gaps, strict=True)]
        table.add_row(group.name, bound_text(group.bound), *cells)
    left = len(reply.problem.groups) - SHOWN
    if left > 0:
        table.add_row(f"and {left} more")
    return table


def name_of(reply: Reply, group: int) -> str:
    """A group's name."""
    return reply.problem.groups[group].name


def pictures(reply: Reply) -> Iterator[Text]:
    """Each policy's runs over time, under the capacity if there is one."""
    problem, frame, used = reply.problem, frame_of(reply.problem), set[str]()
    for one in reply.policies:
        runs = one.runs(frame.until)
        yield Text(f"{one.policy.title}: {one.policy.about}", "bold")
        yield from timeline(problem, runs, frame, SHOWN)
        used.update(*(marks(runs, g, group.bound, frame) for g, group in enumerate(problem.groups[:SHOWN])))
        yield axis(problem, frame)
    yield legend("".join(used))


def sentences(reply: Reply) -> Iterator[str]:
    """Which policy costs least and what it saves; what cannot be; how far to trust it."""
    best = reply.cheapest
    yield cheapest_sentence(reply)
    yield from (saving_sentence(reply, best, up.group) for up in best.sped_up)
    if reply.capacity is not None:
        yield from capacity_sentences(reply)
    for one in reply.policies:
        if one.schedule.note:
            yield f"{one.policy.title} is not surely the best of its kind ({one.schedule.note})."


def cheapest_sentence(reply: Reply) -> str:
    """The cheapest policy beside the first."""
    best, first = reply.cheapest, reply.policies[0]
    said = f"{best.policy.title} costs least: {float(best.rate.per_minute):.6g} a minute"
    if best is first or not first.rate.cost:
        return f"{said}."
    return f"{said}, {float(1 - best.rate.cost / first.rate.cost):.1%} less than {first.policy.name}."


def saving_sentence(reply: Reply, one: PolicyReply, group: int) -> str:
    """What a speed-up saves."""
    up = next(up for up in one.sped_up if up.group == group)
    saves, bound = float(up.saves * MINUTE), reply.problem.bounds[group]
    instead = f"  {name_of(reply, group)} every {length(up.every)} instead of {bound_text(bound)}"
    if saves >= 0:
        return f"{instead} saves {saves:.4g} a minute."
    return f"{instead} costs {-saves:.4g} more a minute by itself: it pays together with the others only."


def capacity_sentences(reply: Reply) -> Iterator[str]:
    """What no schedule can do at this capacity, or who does it."""
    assert reply.capacity is not None
    yield from too_slow(reply.problem, reply)
    best = reply.cheapest
    need = float(best.rate.per_minute / reply.capacity)
    if need > 1:
        who = "any schedule" if best.schedule.best and best.policy.name == "cyclic" else best.policy.name
        yield (f"The capacity of {float(reply.capacity):g} a minute is not enough: {who} needs at least "
               f"{float(best.rate.per_minute):.6g}, {need:.0%} of it.")
    kept = [one.policy.name for one in reply.policies if one.loaded and not one.loaded.merged.missed]
    yield f"Every bound is kept by {', '.join(kept)}." if kept else "No policy keeps every bound at this capacity."


def too_slow(problem: ScheduleProblem, reply: Reply) -> Iterator[str]:
    """The groups of which a single run takes longer than their bound."""
    assert reply.capacity is not None
    for g, group in enumerate(problem.groups):
        takes = problem.costs.together([g]) / reply.capacity * MINUTE
        if takes > group.bound:
            yield (f"One run of {group.name} alone takes {length(takes)}, longer than its bound of "
                   f"{bound_text(group.bound)}: no schedule keeps it.")
