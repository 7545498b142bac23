"""Explaining a plan from the very stages that run: as text, as plain values, as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from weft.model.edges import Density, composite_slide
from weft.model.graph import Node, StageGraph
from weft.model.plan import Scan, SharedPlan, Tree
from weft.model.query import Query
from weft.model.stages import AnswerStage, DeriveStage, FinalStage, JoinStage, PartialStage, Stage
from weft.model.window import TIME, Window, duration, measured
from weft.optimize.cost_breakdown import PlanBreakdown, ScanBreakdown, plain_costs, plain_rate, plain_share, tidy
from weft.optimize.problem import TreeCost
from weft.slicing import PAIRS, find_slicer, open_slices
from weft.stages.picture import page, picture
from weft.stages.triggers import ScanTrigger

NAMES_SHOWN = 6
QUERIES_SHOWN = 12
SECOND = 1_000_000


@dataclass(frozen=True)
class Explanation:
    """What is shared: prints as text, shows as a picture in notebooks, and gives plain values to programs."""

    plan: SharedPlan
    stages: StageGraph
    account: PlanBreakdown
    triggers: tuple[ScanTrigger, ...] = ()
    shedding: tuple[dict, ...] = ()
    drift: float | None = None
    tolerance: float = inf

    def to_dict(self) -> dict:
        """The plan as plain values; costs are seconds."""
        parts = zip(self.plan.nodes, self.stages.slices, self.account.scans, strict=True)
        return {
            "optimizer": self.plan.optimizer,
            "slicer": next(iter(self.plan.slicers), PAIRS.name),
            "totals": count_work(self.plan, self.stages),
            "cost": cost_dict(self.account),
            "scans": [scan_dict(self.stages, *part) for part in parts],
            "queries": queries_dict(self.plan, self.account),
            **freshness_dict(self.plan),
            **({"triggers": [one.to_dict() for one in self.triggers]} if self.triggers else {}),
            **({"shedding": list(self.shedding)} if self.shedding else {}),
            **({"drift": self.drift} if self.drift is not None else {}),
            **({"drift_tolerance": self.tolerance} if self.drift is not None and self.tolerance < inf else {}),
            "nodes": [node_dict(node) for node in self.stages],
        }

    def __str__(self) -> str:
        plan = self.to_dict()
        scans = (line for scan in plan["scans"] for line in scan_lines(scan))
        return "\n".join([summarize(plan["totals"]), price_sentence(plan), *slicer_sentences(plan["slicer"]), *scans,
                          *paying_queries(plan["queries"]), *freshness_lines(plan.get("freshness", {})),
                          *trigger_lines(self.triggers), *shedding_lines(self.shedding),
                          *drift_lines(self.drift, self.tolerance)])

    def svg(self) -> str:
        """The plan as an SVG picture."""
        return picture(self.to_dict())

    def to_html(self) -> str:
        """The plan as a page of its own."""
        return page(self.svg(), str(self))

    def _repr_html_(self) -> str:
        return self.svg()


def slicer_sentences(name: str) -> Iterator[str]:
    """How time is cut where that is not by Pairs, and whether Spark runs it."""
    slicer, why = find_slicer(name), open_slices((name,))
    if slicer is not PAIRS:
        yield f"cut by {slicer.title}: {slicer.description}"
    if why:
        yield f"{why}."


def count_work(plan: SharedPlan, stages: StageGraph) -> dict:
    """How much the plan does, beside what the queries would do alone."""
    return {
        "queries": len(plan.queries),
        "scans": len(plan.scans),
        "derived": len(plan.nodes) - len(plan.scans),
        "trees": sum(len(node.trees) for node in plan.nodes),
        "windows": sum(len(node.windows) for node in plan.nodes),
        "components": sum(len(node.stage.components) for node in stages.roots),
        "components_alone": sum(len(b.components) for b in plan.queries),
        "answer_stages": len(stages.of(AnswerStage)),
    }


def summarize(total: dict) -> str:
    """One sentence on what is shared."""
    return (
        f"{many(total['queries'], 'query', 'queries')} in {many(total['scans'], 'scan')}"
        f"{derived_note(total['derived'])}: "
        f"{many(total['windows'], 'window')} over {many(total['components'], 'shared component')} "
        f"(alone: {many(total['queries'], 'scan')}, {many(total['components_alone'], 'component')}), "
        f"{many(total['answer_stages'], 'projection')}."
    )


def derived_note(derived: int) -> str:
    """How many groupings read another's slices, if any do."""
    return f" and {many(derived, 'derived grouping')}" if derived else ""


def cost_dict(account: PlanBreakdown) -> dict:
    """What the plan costs, and what its queries would cost apart or in one tree a scan."""
    return {"model": "spark", "unit": "seconds", "cost": tidy(account.cost), "no_share_cost": tidy(account.no_share),
            "shared_cost": tidy(account.shared)}


def price_sentence(plan: dict) -> str:
    """One sentence on what the plan costs."""
    cost = plan["cost"]
    others = f"No Share takes {format_seconds(cost['no_share_cost'])}, Shared {format_seconds(cost['shared_cost'])}"
    return f"{plan['optimizer']} takes {format_seconds(cost['cost'])}, {others}."


def node_dict(node: Node[Stage]) -> dict:
    """A node of the graph: its id, what it is, and what it reads."""
    return {"id": node.id, "kind": node.kind, "inputs": list(node.inputs)}


def scan_dict(graph: StageGraph, scan: Scan, node: Node[PartialStage], found: ScanBreakdown) -> dict:
    """One scan as plain values; `parent` is the number of the scan whose slices it reads."""
    partial, finals = node.stage, graph.trees(node.id)
    trees = zip(scan.trees, finals, found.account.cost.trees, strict=True)
    parent = graph[node.inputs[0]] if isinstance(partial, DeriveStage) else None
    return {
        "id": node.id,
        "source": partial.source,
        "join": join_dict(graph, node),
        "where": None if partial.numbered else partial.predicates[0],
        "predicates": [predicate or "TRUE" for predicate in partial.predicates] if partial.numbered else [],
        "sharing": partial.sharing or None,
        "time": partial.time,
        "keys": list(partial.keys),
        "parent": None if parent is None else graph.slices.index(parent),
        "read_from": None if parent is None else list(graph.slices_of(parent).stage.keys),
        "derived_saves": None if found.derived is None else tidy(found.derived),
        "serves": len(scan.derived),
        "components": [str(c) for c in partial.components],
        "slices": slices_dict(scan.cut_for, found.edge_rate),
        **plain_costs(found.account),
        "estimated_for": source_dict(found, scan.counts_rows),
        "trees": [tree_dict(graph, *tree) for tree in trees],
    }


def join_dict(graph: StageGraph, node: Node[PartialStage]) -> dict | None:
    """The join that a scan reads, if its source is one: inputs, conditions, order, bins, and the queries that share
    it."""
    stage = graph[node.inputs[0]].stage
    if not isinstance(stage, JoinStage):
        return None
    inputs, method = stage.join.inputs, stage.method
    return {
        "id": node.inputs[0],
        "inputs": [{"name": each.alias, "source": each.source, "time": each.time} for each in inputs],
        "on": list(stage.join.conditions),
        "order": [inputs[number].alias for number in method.order],
        "bins": {inputs[step.input].alias: duration(step.bin) for step in method.steps if step.bin},
        "chosen_by": method.reason,
        "queries": [name for each in graph.readers(node.inputs[0], PartialStage) for name in graph.queries(each.id)],
    }


def join_lines(join: dict) -> list[str]:
    """How a join is made, as lines of text."""
    tables = [each["name"] for each in join["inputs"] if each["time"] is None]
    steps = [f"{name} in bins of {join['bins'][name]}" if name in join["bins"] else name for name in join["order"]]
    shared = f", shared by {many(len(join['queries']), 'query', 'queries')}" if len(join["queries"]) > 1 else ""
    named = f" ({', '.join(tables)}: no stream)" if tables else ""
    return [f"├─ join{shared}: {', then '.join(steps)}{named}; order {join['chosen_by']}",
            *(f"│    {condition}" for condition in join["on"])]


def source_dict(found: ScanBreakdown, counts_rows: bool) -> dict:
    """What the model takes the scan's source for; how long it lasts does not matter where rows are counted."""
    model = found.model
    hours = None if counts_rows else model.span / SECOND / 3600
    return {"rows": round(model.rate * model.span), "keys": round(model.keys), "hours": hours,
            "measured": found.known == "measured", "sampled": found.known == "sampled"}


def tree_dict(graph: StageGraph, tree: Tree, final: Node[FinalStage], cost: TreeCost) -> dict:
    """One tree as plain values."""
    return {
        "id": final.id,
        "windows": [str(w) for w in tree.windows],
        "queries": [b.query.name for b in tree.queries],
        "reads": {b.query.name: str(b.query.window) for b in tree.queries},
        "slices": slices_dict(tree.windows, cost.edge_rate),
        "cost": tidy(cost.cost),
        "algorithms": algorithms_dict(final.stage),
        "projections": [[asked.name for asked in node.stage.queries] for node in graph.answers(final.id)],
    }


def queries_dict(plan: SharedPlan, found: PlanBreakdown) -> dict[str, dict]:
    """Each query's part of the cost, what it would cost alone, and what sharing saves it."""
    shares = (share for scan in found.scans for share in scan.account.shares)
    return {b.query.name: plain_share(share) for b, share in zip(plan.queries, shares, strict=True)}


def freshness_dict(plan: SharedPlan) -> dict[str, dict]:
    """How often answers of queries must come, and slides that were chosen within a bound; empty where none says so."""
    found = {b.query.name: query_freshness(b.query, b.query.every) for b in plan.queries if b.query.every}
    return {"freshness": found} if found else {}


def query_freshness(query: Query, every: int) -> dict:
    """What one query says of it, in words."""
    if query.slide_bound is None:
        return {"every": duration(every)}
    return {"every": duration(every), "slide_bound": duration(query.slide_bound), "slide": duration(query.window.slide)}


def freshness_lines(queries: dict[str, dict]) -> list[str]:
    """How often answers must come at the least, of the first queries that say so."""
    shown = list(queries.items())[:QUERIES_SHOWN]
    text = [f"     {name}: every {q['every']}" + (f", slides by {q['slide']} (SLIDE <= {q['slide_bound']})"
                                                    if "slide" in q else "") for name, q in shown]
    more = [f"     and {len(queries) - len(shown)} more"] if len(queries) > len(shown) else []
    return ["answers come at the least:", *text, *more] if text else []


def trigger_lines(triggers: Sequence[ScanTrigger]) -> list[str]:
    """How short triggers can be as a stream, of scans whose queries have bounds."""
    return ["as a stream:", *(f"     {one}" for one in triggers)] if triggers else []


def drift_lines(drift: float | None, tolerance: float) -> list[str]:
    """By how much a plan whose queries came and went costs more than was expected of as many (000 Eq. 6)."""
    if drift is None:
        return []
    anew = f"; woven anew beyond {tolerance:.0%}" if tolerance < inf else ""
    side = "above" if drift >= 0 else "below"
    return [f"drift: {abs(drift):.1%} {side} what as many queries were expected to cost{anew}"]


def shedding_lines(sources: tuple[dict, ...]) -> list[str]:
    """What is dropped of each source of which some queries accept an error, and why."""
    text = [f"     {each['source']} keeps {100 * each['share']:.3g} % of its rows: {each['reason']}"
            for each in sources]
    return ["rows are dropped where queries accept an error:", *text] if text else []


def algorithms_dict(final: FinalStage) -> dict[str, str]:
    """The algorithms that fold each component, several where grids differ."""
    chosen = {str(c): dict.fromkeys(names[i] for names in final.algorithms) for i, c in enumerate(final.components)}
    return {component: ", ".join(names) for component, names in chosen.items()}


def slices_dict(windows: tuple[Window, ...], rate: Density) -> dict:
    """How slices are cut: the composite slide, the edges in it if they were counted, and those of a second or row."""
    period, unit = composite_slide(windows), windows[0].unit
    edges = int(rate.value * period) if rate.exact else None
    per, ticks = ("second", SECOND) if unit == TIME else ("row", 1)
    return {"composite_slide": measured(period, unit), "edges": edges, "per": per, **plain_rate(rate, ticks)}


def cut(slices: dict, noun: str = "slice") -> str:
    """How slices are cut, in words."""
    rate, period, per = f"{slices['edge_rate']:.3g}", slices["composite_slide"], slices["per"]
    if slices["edges"] is None:
        return f"about {rate} {noun}s a {per} (sampled, ± {slices['edge_rate_error']:.2g}), repeating every {period}"
    often = f" ({rate} a {per})" if slices["edges"] > 1 else ""
    return f"{many(slices['edges'], noun)} every {period}{often}"


def format_seconds(value: float) -> str:
    """Seconds with three digits."""
    return f"{value:.3g} s" if abs(value) < 1000 else f"{value:,.0f} s"


def scan_lines(scan: dict) -> list[str]:
    """One scan as lines of text."""
    where = f" where {scan['where']}" if scan["where"] else ""
    keys = ", ".join(scan["keys"]) or "(no keys)"
    text = [f"{scan_origin(scan)}{where}: {scan_cost_text(scan)}", *(join_lines(scan["join"]) if scan["join"] else ()),
            f"├─ partial: {cut(scan['slices'])}, by {keys}"]
    text += [f"│    {component}" for component in scan["components"]]
    if scan["predicates"]:
        text.append(f"├─ {len(scan['predicates'])} predicates: {SHARING[scan['sharing']]}")
        text += [f"│    {line}" for line in shortened(scan["predicates"], 10)]
    if not scan["trees"]:
        return [*text, f"└─ no query asks for it: {many(scan['serves'], 'grouping')} read its slices"]
    for tree in scan["trees"][:-1]:
        text += tree_lines(tree, "├─ ", "│    ", True)
    return text + tree_lines(scan["trees"][-1], "└─ ", "     ", len(scan["trees"]) > 1)


def scan_origin(scan: dict) -> str:
    """What a scan reads: its source, or the slices of another grouping."""
    if scan["read_from"] is None:
        return f"scan {scan['source']}"
    saved = f"saves {format_seconds(scan['derived_saves'])} against reading {scan['source']}"
    return f"derived from the slices by {', '.join(scan['read_from'])} ({saved})"


SHARING = {"filters": "each has columns of its own in a slice",
           "shards": "rows are grouped by which of them they pass"}


def shortened(items: list[str], most: int) -> list[str]:
    """A list, or its beginning and how many are left out."""
    return items if len(items) <= most else [*items[: most - 1], f"and {len(items) - most + 1} more"]


def scan_cost_text(scan: dict) -> str:
    """What a scan costs, alone and for which source."""
    source = scan["estimated_for"]
    known = "measured" if source["measured"] else "sampled" if source["sampled"] else "assumed"
    span = "" if source["hours"] is None else f" in {source['hours']:.3g} h"
    size = f"{source['rows']:,} rows of {many(source['keys'], 'key')}{span}, {known}"
    return f"{format_seconds(scan['cost'])} (its queries alone {format_seconds(scan['no_share_cost'])}) for {size}"


def tree_lines(tree: dict, first: str, others: str, several: bool) -> list[str]:
    """One tree as lines of text; where there are several, also how each cuts time."""
    size = f"{many(len(tree['queries']), 'query', 'queries')}, {many(len(tree['windows']), 'window')}"
    text = [f"{first}tree of {size}" + (f": {format_seconds(tree['cost'])}" if several else "")]
    body = [f"cut at {cut(tree['slices'], 'edge')}"] if several else []
    body += [f"{window}: {names(tree, window)}" for window in tree["windows"]]
    body += [f"{', '.join(folded)} by {algorithm}" for algorithm, folded in by_algorithm(tree).items()]
    return text + [others + line for line in body]


def saving_text(saved: float) -> str:
    """What sharing saves a query, or costs it where others' edges cut its slices finer than it needs."""
    return f"saves {format_seconds(saved)}" if saved > -1e-9 else f"loses {format_seconds(-saved)}"


def paying_queries(queries: dict[str, dict]) -> list[str]:
    """What the first queries pay."""
    shown = list(queries.items())[:QUERIES_SHOWN]
    text = [f"     {name}: {format_seconds(q['cost'])}, alone {format_seconds(q['alone'])}, {saving_text(q['saved'])}"
            for name, q in shown]
    more = [f"     and {len(queries) - len(shown)} more"] if len(queries) > len(shown) else []
    return ["each query's part of the cost:", *text, *more] if text else []


def by_algorithm(tree: dict) -> dict[str, list[str]]:
    """The components that each algorithm folds."""
    found: dict[str, list[str]] = {}
    for component, algorithm in tree["algorithms"].items():
        found.setdefault(algorithm, []).append(component)
    return found


def many(number: int, one: str, more: str = "") -> str:
    """A number with its noun."""
    return f"{number} {one if number == 1 else more or one + 's'}"


def names(tree: dict, window: str) -> str:
    """The queries that read a window, the first few by name."""
    found = [name for name, read in tree["reads"].items() if read == window]
    more = f" and {len(found) - NAMES_SHOWN} more" if len(found) > NAMES_SHOWN else ""
    return ", ".join(found[:NAMES_SHOWN]) + more
