"""What the demo says on the terminal, and the figures that the report shows too: what was shared, and the times."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from examples.demo.run import Outcome
from weft.model.edges import composite_slide, count_edges
from weft.model.plan import Scan
from weft.model.window import duration


@dataclass(frozen=True)
class Shared:
    """What one scan is shared by."""

    keys: str
    where: str
    queries: int
    windows: int
    components: int
    calls: int
    slices: str


def shared(outcome: Outcome) -> list[Shared]:
    """One entry a scan, the most shared first."""
    found = [shared_scan(scan) for scan in outcome.loom.plan().scans]
    return sorted(found, key=lambda each: -each.queries)


def shared_scan(scan: Scan) -> Shared:
    """What reads one scan, and in how many pieces time is cut for it."""
    query = scan.head.query
    return Shared(
        keys=", ".join(query.keys) or "all rows",
        where=" | ".join(predicate or "–" for predicate in scan.predicates),
        queries=len(scan.queries),
        windows=len(scan.windows),
        components=len(scan.components),
        calls=sum(len(bound.query.calls) for bound in scan.queries),
        slices=slices(scan),
    )


def slices(scan: Scan) -> str:
    """How many slices the scan cuts each turn of its windows' edges into."""
    edges = count_edges(scan.windows)
    return f"{edges:,} per {duration(composite_slide(scan.windows))}" if edges else "many"


STEPS = {
    "trades": "trades made, or kept from before",
    "session": "Spark started",
    "plan": "queries added and planned",
    "run": "queries run, Parquet written",
    "native": "Spark's own sampled",
}
HEADINGS = ("grouped by", "where", "queries", "windows", "aggregate calls", "components", "slices")


def cells(each: Shared) -> list[str]:
    """A scan as texts, in the order of the headings."""
    return [each.keys, each.where, *(f"{n}" for n in (each.queries, each.windows, each.calls, each.components)),
            each.slices]


def facts(outcome: Outcome) -> dict[str, str]:
    """The run in a few numbers."""
    scans = outcome.loom.plan().scans
    run, spark = outcome.times["run"], outcome.spark.seconds
    answers = sum(outcome.answers.values())
    return {
        "queries": f"{len(outcome.queries)}",
        "scans": f"{len(scans)}",
        "answers": f"{answers / 1e6:.1f} M",
        "Weft, first run, Parquet written": f"{run:.1f} s",
        "Spark's own, estimated": f"~{spark:,.0f} s",
        "times less": f"~{spark / run:,.0f} ×",
    }


def sharing(outcome: Outcome) -> str:
    """What the queries share, in one sentence."""
    total = outcome.loom.explain().to_dict()["totals"]
    return (
        f"{total['queries']} queries run on {total['scans']} scans and {total['trees']} trees: {total['windows']} "
        f"windows over {total['components']} components; alone they would take {total['queries']} scans and "
        f"{total['components_alone']} components."
    )


def how_estimated(outcome: Outcome) -> str:
    """Where the estimate comes from, in one sentence."""
    each = ", ".join(f"{s.query.name} ({s.query.window}) {s.seconds:.1f} s" for s in outcome.spark.samples)
    return (
        f"Spark's own was SAMPLED, not run in full: {each}, to a noop sink; the {len(outcome.queries)} queries are "
        "estimated from these by range / slide, in Spark's favour where in doubt (a query with WHERE counts as the "
        "cheapest sample; long windows take more than the line says; Spark writes nothing here, "
        "Weft writes Parquet)."
    )


def show(outcome: Outcome, console: Console) -> None:
    """What was shared, the times, and how Spark's own was estimated."""
    table = Table(title="What was shared: one row a scan", title_justify="left")
    for place, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if place < 2 else "right")
    for each in shared(outcome):
        table.add_row(*cells(each))
    console.print(table)
    console.print(sharing(outcome), highlight=False)
    console.print(", ".join(f"{words} {outcome.times[step]:.1f} s" for step, words in STEPS.items()), highlight=False)
    console.print(", ".join(f"{name}: [bold]{value}[/bold]" for name, value in facts(outcome).items()), highlight=False)
    console.print(how_estimated(outcome), highlight=False)
