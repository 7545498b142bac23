"""`weft what-if windows`: what an optimizer makes of windows, and what that costs, without a project, data or Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import typer
from rich.console import RenderableType

from weft.cli.forcing import chosen_optimizer, chosen_slicer
from weft.cli.nearest import did_you_mean
from weft.cli.output import CommandOutput
from weft.cli.tables import columns, counted, few
from weft.cli.windows import Given, read_windows
from weft.cost.model import Model, PaperModel, SparkModel, find_technique
from weft.errors import PlanError
from weft.model.edges import Density
from weft.optimize.base import Optimizer
from weft.optimize.cost_breakdown import CostBreakdown, break_down, plain_costs, plain_rate, plain_share, tidy
from weft.optimize.plan import solve
from weft.optimize.problem import Problem
from weft.slicing import PAIRS, Slicer, open_slices

MODELS = ("paper", "spark")
TECHNIQUE = "panes"
# What a source is taken for where nobody says: as Loom.plan takes one that was not measured.
ROWS, KEYS, HOURS = 2e6, 1e3, 10.0
SHOWN = 6


@dataclass(frozen=True)
class Question:
    """What the user asks; None where an option was not given."""

    windows: Sequence[str]
    optimizer: str | None = None
    model: str | None = None
    algorithms: Sequence[str] = ()
    rate: float | None = None
    rows: float | None = None
    keys: float | None = None
    hours: float | None = None
    slicer: str | None = None


@dataclass(frozen=True)
class Estimating:
    """The model to price with, what turns its unit into people's, and what it takes the source for."""

    model: Model
    factor: float
    facts: dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """The plan of the windows, priced."""

    given: Given
    optimizer: Optimizer
    estimating: Estimating
    account: CostBreakdown
    once: float
    slicer: Slicer = PAIRS


def plan_windows(output: CommandOutput, question: Question) -> None:
    """Plans the windows and shows the trees; whatever is wrong is wrong usage, since there is nothing but options."""
    reply = answer(question)
    output.show(to_dict(reply), *pages(reply))


def answer(question: Question) -> Reply:
    """The plan of the question's windows."""
    try:
        given = read_windows(question.windows)
    except PlanError as error:
        raise wrong("WINDOWS", error) from error
    optimizer = chosen_optimizer(question.optimizer)
    estimating = estimate(question, given)
    slicer = chosen_slicer(question.slicer)
    problem = Problem(given.windows, estimating.model, shared=optimizer.shared, slicer=slicer)
    try:
        groups = solve(optimizer, problem)
    except PlanError as error:
        raise wrong("--optimizer", error) from error
    found = break_down(problem, groups, estimating.factor)
    return Reply(given, optimizer, estimating, found, problem.pricing.once * estimating.factor, slicer)


def wrong(option: str, reason: object) -> typer.BadParameter:
    """The error of wrong usage."""
    return typer.BadParameter(str(reason), param_hint=option)


def estimate(question: Question, given: Given) -> Estimating:
    """The model that the question names."""
    name = question.model or MODELS[0]
    if name not in MODELS:
        raise wrong("--model", f"there is no model '{name}'. {did_you_mean(name, MODELS)}")
    refuse_options(question, name)
    return paper(question, given) if name == "paper" else spark(question, given)


def refuse_options(question: Question, name: str) -> None:
    """Refuses what the other model uses: it would change nothing, and the user thinks it does."""
    of_paper = {"--rate": question.rate, "--algorithm": question.algorithms or None}
    of_spark = {"--rows": question.rows, "--keys": question.keys, "--hours": question.hours}
    other, options = ("spark", of_spark) if name == "paper" else ("paper", of_paper)
    for option, value in options.items():
        if value is not None:
            raise wrong(option, f"this belongs to --model {other}, not to --model {name}.")


def paper(question: Question, given: Given) -> Estimating:
    """Operations per unit of time, as the papers count them; a second is the unit where windows are durations."""
    if question.rate is None:
        raise wrong("--rate", "give the input rate: tuples per second where windows are durations, else per unit.")
    rate = positive("--rate", question.rate)
    name = one_technique(question.algorithms)
    try:
        technique = find_technique(name)
    except PlanError as error:
        raise wrong("--algorithm", error) from error
    facts = {"technique": name, "rate": rate, "unit": f"operations per {unit_of(given)}"}
    return Estimating(PaperModel(rate / given.ticks, technique), given.ticks, facts)


def one_technique(names: Sequence[str]) -> str:
    """The technique asked for, or the papers' first."""
    if len(names) > 1:
        raise wrong("--algorithm", "a plan of windows is priced with one technique only.")
    return names[0].strip() if names else TECHNIQUE


def spark(question: Question, given: Given) -> Estimating:
    """Seconds on Spark, for a source of so many rows, keys and hours; plain numbers are seconds."""
    asked = {"rows": question.rows, "keys": question.keys, "hours": question.hours}
    facts = {name: positive(f"--{name}", default if asked[name] is None else asked[name])
             for name, default in (("rows", ROWS), ("keys", KEYS), ("hours", HOURS))}
    span = facts["hours"] * 3600 * given.ticks
    model = SparkModel(facts["rows"] / span, facts["keys"], span)
    assumed = [name for name, value in asked.items() if value is None]
    return Estimating(model, span, {"technique": model.technique.name, "rate": facts["rows"] / facts["hours"] / 3600,
                                   **facts, "assumed": assumed, "unit": "seconds for the whole span"})


def positive(option: str, value: float | None) -> float:
    """A number that is one and is positive."""
    if value is None or not (isfinite(value) and value > 0):
        raise wrong(option, f"this must be positive, not {value:g}.")
    return value


def unit_of(given: Given) -> str:
    """The unit of time that rates refer to."""
    return "second" if given.timed else "unit of time"


def to_dict(reply: Reply) -> dict[str, Any]:
    """The reply for machines."""
    found, given = reply.account, reply.given
    facts = {key: tidy(value) if isinstance(value, float) else value for key, value in reply.estimating.facts.items()}
    return {
        "optimizer": reply.optimizer.name,
        "slicer": reply.slicer.name,
        "model": reply.estimating.model.name,
        **facts,
        **plain_costs(found),
        "shared_partial_cost": tidy(reply.once),
        "trees": [
            {"windows": [given.texts[q] for q in tree.queries], **plain_rate(tree.edge_rate, given.ticks),
             "overlap": tidy(tree.omega), "cost": tidy(tree.cost)}
            for tree in found.cost.trees
        ],
        "queries": [{"window": text, **plain_share(share)}
                    for text, share in zip(given.texts, found.shares, strict=True)],
    }


def pages(reply: Reply) -> Iterator[RenderableType]:
    """All that people read: a row a tree, then sentences."""
    found, given = reply.account, reply.given
    seconds = isinstance(reply.estimating.model, SparkModel)
    table = columns("tree", "windows", f"edges per {'second' if seconds else unit_of(given)}",
                    "ns per slice" if seconds else "Ω", "seconds" if seconds else "cost")
    for number, tree in enumerate(found.cost.trees, start=1):
        table.add_row(str(number), few([given.texts[q] for q in tree.queries], SHOWN),
                      rate_text(tree.edge_rate, given.ticks), f"{tree.omega:.6g}", f"{tree.cost:.6g}")
    yield table
    yield from sentences(reply)


def rate_text(rate: Density, ticks: int) -> str:
    """An edge rate, with its error where it is sampled."""
    value = f"{float(rate.value * ticks):.6g}"
    return value if rate.exact else f"{value} ± {rate.error * ticks:.2g} (sampled)"


def sentences(reply: Reply) -> Iterator[str]:
    """What the plan costs, and what it was estimated with."""
    found, facts = reply.account, reply.estimating.facts
    size, trees = len(found.shares), len(found.cost.trees)
    made = f"{reply.optimizer.title}: {counted(size, 'query')} in {counted(trees, 'tree')}"
    yield (f"{made} for {found.cost.total:.6g} {facts['unit']}; No Share takes {found.no_share:.6g}, "
           f"Shared {found.shared:.6g}.")
    if reply.slicer is not PAIRS:
        yield f"Cut by {reply.slicer.title}: {reply.slicer.description}"
    if why := open_slices((reply.slicer.name,)):
        yield f"{why}."
    if reply.once:
        yield f"The one partial stage for all trees takes {reply.once:.6g} of that."
    yield source_of(facts) if "rows" in facts else f"Estimated for a rate of {facts['rate']:g}, {facts['technique']}."


def source_of(facts: dict[str, Any]) -> str:
    """The source that the Spark model uses."""
    assumed = f" ({', '.join(facts['assumed'])} assumed)" if facts["assumed"] else ""
    return (f"Estimated for {facts['rows']:,.0f} rows of {facts['keys']:,.0f} keys in {facts['hours']:g} h{assumed}, "
            "with one projection for all windows; plain numbers are seconds.")
