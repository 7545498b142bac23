"""`weft what-if joins`: every left-deep order of joining streams, what it costs, and what must be dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.cli.join_report import JoinReply, pages, sentences, to_dict, tree_of
from weft.cli.join_streams import read_predicates, read_streams
from weft.cli.nearest import did_you_mean
from weft.cli.output import CommandOutput
from weft.cli.what_if import positive, wrong
from weft.cost.joins.drop_boxes import find_drop_boxes
from weft.cost.joins.estimate import JoinPlan, estimate
from weft.cost.joins.join_cost import symmetric_cost
from weft.cost.joins.left_deep import orders
from weft.cost.joins.problem import BY_KEYS, BY_ROWS, JoinProblem
from weft.errors import PlanError
from weft.model.window import ROW_COUNT, TIME
from weft.optimize.join_order import find_join_optimizer, require_few
from weft.optimize.join_order.exhaustive import MOST, exhaustive
from weft.stages.join_picture import join_picture
from weft.stages.picture import page

WINDOWS, SHED = (ROW_COUNT, TIME), (BY_ROWS, BY_KEYS)


@dataclass(frozen=True)
class JoinQuestion:
    """What the user asks; None where an option was not given."""

    streams: Sequence[str]
    selectivities: Sequence[str]
    join_ms: float | None
    windows: str = ROW_COUNT
    shed: str = BY_ROWS
    optimizer: str | None = None
    cross_products: bool = True
    cores: float = 1.0


def plan_joins(output: CommandOutput, question: JoinQuestion, svg: Path | None, html: Path | None) -> None:
    """Plans the joins, shows the plans and draws the chosen one."""
    reply = answer(question)
    drawn = join_picture(tree_of(reply))
    wrote = [write(path, content) for path, content in
             ((svg, drawn), (html, page(drawn, "\n".join(sentences(reply))))) if path]
    output.show(to_dict(reply), *pages(reply), *wrote)


def write(path: Path, content: str) -> str:
    """Writes a picture, and says so."""
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        reason = f"'{path}' cannot be written: {error.strerror}. Give a file in a folder that is there."
        raise PlanError(reason) from error
    return f"Wrote {path}"


def answer(question: JoinQuestion) -> JoinReply:
    """The plans of the question's streams; whatever is wrong is wrong usage, since there is nothing but options."""
    problem, option = problem_of(question), "--optimizer"
    try:
        optimizer = find_join_optimizer(question.optimizer) if question.optimizer else exhaustive
        require_few(optimizer, problem)
        option = "--streams"
        chosen = optimizer.choose(problem)
    except PlanError as error:
        raise wrong(option, error) from error
    return JoinReply(problem, optimizer, every_plan(problem) or (chosen,), chosen)


def every_plan(problem: JoinProblem) -> tuple[JoinPlan, ...]:
    """All left-deep plans, best first, unless they are too many."""
    if len(problem.streams) > MOST:
        return ()
    return tuple(sorted((estimate(problem, order) for order in orders(problem)), key=lambda plan: -plan.objective))


def problem_of(question: JoinQuestion) -> JoinProblem:
    """The problem that the options describe."""
    one_of("--windows", question.windows, WINDOWS)
    one_of("--shed", question.shed, SHED)
    if question.join_ms is None:
        raise wrong("--join-ms", "give the milliseconds that a join takes for a row of either side.")
    cost = symmetric_cost(positive("--join-ms", question.join_ms) / 1000)
    option = "--streams"
    try:
        streams = read_streams(question.streams, question.windows)
        option = "--selectivity"
        predicates = read_predicates(question.selectivities, streams)
    except PlanError as error:
        raise wrong(option, error) from error
    problem = JoinProblem(streams, predicates, cost, question.windows, question.shed,
                          positive("--cores", question.cores), question.cross_products)
    require_drop_boxes(problem)
    return problem


def require_drop_boxes(problem: JoinProblem) -> None:
    """Refuses what drop boxes cannot decide by."""
    try:
        find_drop_boxes(problem)
    except PlanError as error:
        raise wrong("--shed", error) from error


def one_of(option: str, value: str, known: Sequence[str]) -> None:
    """Refuses a word that the option does not take."""
    if value not in known:
        raise wrong(option, f"there is no '{value}' here. {did_you_mean(value, known)}")
