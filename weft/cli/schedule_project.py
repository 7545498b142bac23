"""`weft schedule` in a project: the schedule that its own queries get, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.table import Table

from weft.cli.catalog import chosen_store
from weft.cli.choice import PlanOptions
from weft.cli.commands import keeping
from weft.cli.forcing import chosen
from weft.cli.output import CommandOutput
from weft.cli.project import Project, find_project, load_project
from weft.cli.schedule import reply_for, wrong
from weft.cli.schedule_json import to_dict
from weft.cli.schedule_pages import cost_table, group_table, pictures, saving_sentence
from weft.cli.schedule_reply import PolicyReply, Reply
from weft.cli.tables import columns, counted, few
from weft.cli.timeline import bound_text
from weft.cli.toml import FILE
from weft.cli.weaving import weave_all
from weft.errors import ProjectError
from weft.runner.choice import ChosenSchedule, known_by, require_sustainable, unmet_bounds
from weft.runner.choice import seconds as in_seconds
from weft.runner.groups import group_queries

if TYPE_CHECKING:
    from weft.loom.schedule import PricedGroups

SECONDS_A_MINUTE = Fraction(60)  # costs are seconds, of which one run at a time has 60 a minute
NAMED = 5


def show_project(output: CommandOutput, folder: Path | None, store: str | None, policies: Sequence[str]) -> None:
    """Shows the schedule of the project's queries."""
    project = load_here(folder)
    where = required_store(project, store)
    with output.progress("starting Spark") as report:
        loom = weave_all(project, (), report).loom
        group_queries(loom.queries)  # raises where a query has no bound
        with keeping(loom, where):
            from weft.loom.schedule import price_groups

            plan = loom.plan(incremental=True, **chosen(project, PlanOptions()))
            priced = price_groups(plan, plan.workload)
    reply = reply_for(priced.problem, policies, SECONDS_A_MINUTE)
    best = reply.cheapest
    made = ChosenSchedule(priced.groups, priced.problem, best.policy, best.schedule, best.rate, priced.measured)
    require_sustainable(made)
    output.show(project_dict(reply, made), *project_pages(reply, made, priced))


def load_here(folder: Path | None) -> Project:
    """The project; where there is none, there may be groups."""
    try:
        found = folder or find_project(Path.cwd())
    except ProjectError as error:
        raise wrong("--groups", "there is no project here: give the groups to schedule: their bounds and costs, such "
                                "as 2m:9,3m:14,5m:29.") from error
    return load_project(found)


def required_store(project: Project, text: str | None) -> Path:
    """The store that slices, runs and the lease are kept in."""
    store = chosen_store(project, text)
    if store is None:
        raise ProjectError("a schedule keeps its slices and runs in a store, and this project has none: take "
                           f'store = "" out of {FILE}, or give a folder with --store.')
    return store


def project_dict(reply: Reply, made: ChosenSchedule) -> dict[str, Any]:
    """The reply for machines; costs are seconds."""
    return {**to_dict(reply), "cost_unit": "seconds", "chosen": made.policy.name, "utilisation": made.utilisation,
            "measured_runs": made.measured, "warnings": list(unmet_bounds(made)),
            "queries": {group.name: list(group.queries) for group in made.groups}}


def project_pages(reply: Reply, made: ChosenSchedule, priced: PricedGroups) -> Iterator[RenderableType]:
    """The groups, what each policy costs, and when the chosen one runs what."""
    best = replace(reply, policies=(reply.cheapest,))
    yield groups_table(priced)
    yield cost_table(reply)
    yield group_table(best, "max gap", lambda group: group.longest_gap)
    yield from pictures(best)
    yield from project_sentences(reply, reply.cheapest, made)


def groups_table(priced: PricedGroups) -> Table:
    """A row for each bound: its queries, and what a run of them alone takes."""
    table = columns("group", "every", "queries", "seconds")
    for g, group in enumerate(priced.groups):
        alone = float(priced.problem.costs.together([g]))
        table.add_row(group.name, bound_text(group.bound), few(group.queries, NAMED), f"{alone:.3g}")
    return table


def project_sentences(reply: Reply, best: PolicyReply, made: ChosenSchedule) -> Iterator[str]:
    """What is chosen and why, what speeding up saves, and what cannot be."""
    first = reply.policies[0]
    less = "" if first is best or not first.rate.cost else (
        f", {float(1 - best.rate.cost / first.rate.cost):.1%} less than {first.policy.name}")
    yield (f"{best.policy.title} runs {counted(len(made.queries), 'query')} for {in_seconds(best.rate.per_minute)} a "
           f"minute{less}: busy for {made.utilisation:.1%} of the time. Costs are {known_by(made)}.")
    yield from (saving_sentence(reply, best, up.group) for up in best.sped_up)
    yield from unmet_bounds(made)
    yield "`weft schedule run` follows it."
