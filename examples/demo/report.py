"""The demo's report: one HTML page that needs nothing else, with the plan, the charts, the queries and the times."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from examples.demo.charts import side_bars
from examples.demo.figures import FIGURES, Answers, Figure
from examples.demo.run import Outcome
from examples.demo.summary import HEADINGS, STEPS, cells, facts, how_estimated, shared, sharing
from weft.cli.sample_trades import FIRST, HOUR, symbols


def write_report(outcome: Outcome, path: Path) -> Path:
    """Writes the page in one step."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(page(outcome), encoding="utf-8")
    os.replace(temporary, path)
    return path


def page(outcome: Outcome) -> str:
    """The whole page."""
    template = Template((files("examples.demo") / "page.html").read_text(encoding="utf-8"))
    trades = outcome.trades
    symbol = str(symbols(1)[0])
    answers = Answers(outcome.folder, symbol, FIRST.timestamp() + trades.hours * HOUR / 1e6)
    return template.substitute(
        title=f"{len(outcome.queries)} window queries woven into {len(outcome.loom.plan().scans)} scans",
        subtitle=f"{trades.rows:,} made-up trades of {trades.keys:,} symbols over {trades.hours} hours, "
                 f"{FIRST:%Y-%m-%d %H:%M} UTC on. Rest the pointer on a chart for its values.",
        facts="".join(fact(name, value) for name, value in facts(outcome).items()),
        bars=bars(outcome),
        estimated=escape(how_estimated(outcome)),
        sharing=escape(sharing(outcome)),
        shared=table(HEADINGS, map(cells, shared(outcome)), numbers=range(2, 6)),
        plan=outcome.loom.explain().svg(),
        symbol=escape(symbol),
        figures="".join(figure(each, answers) for each in FIGURES),
        queries=queries(outcome),
        times=times(outcome),
    )


def fact(name: str, value: str) -> str:
    """A number that stands out."""
    return f'<div class="fact"><b>{escape(value)}</b><span>{escape(name)}</span></div>'


def bars(outcome: Outcome) -> str:
    """Weft's time and Spark's, side by side."""
    run, spark = outcome.times["run"], outcome.spark.seconds
    return side_bars("Seconds for all queries", [
        ("Weft, measured", run, f"{run:,.1f} s"),
        ("Spark's own, estimated", spark, f"~{spark:,.0f} s"),
    ], colours=(0, 1))


def figure(each: Figure, answers: Answers) -> str:
    """A chart under its heading."""
    read = ", ".join(f"<code>{escape(name)}</code>" for name in each.queries)
    caption = f"<figcaption><h3>{escape(each.title)}</h3><p>{escape(each.words)} From {read}.</p></figcaption>"
    return f"<figure>{caption}{each.draw(answers)}</figure>"


def queries(outcome: Outcome) -> str:
    """Every query with its SQL folded away."""
    known = {query.name: query for query in outcome.loom.queries}
    rows = []
    for each in outcome.queries:
        query = known[each.name]
        told = f"<details><summary>{escape(each.words)}</summary><pre>{escape(each.sql)}</pre></details>"
        grouped = escape(", ".join(query.keys) or "all rows")
        rows.append([f"<code>{escape(each.name)}</code>", told, escape(str(query.window)), grouped,
                     escape(query.where or "–"), f"{outcome.answers[each.name]:,}"])
    headings = ("query", "what it asks", "range / slide", "grouped by", "where", "answers")
    return table(headings, rows, numbers=(5,), safe=True)


def times(outcome: Outcome) -> str:
    """Seconds of every step."""
    rows = [[words, f"{outcome.times[step]:.2f}"] for step, words in STEPS.items()]
    return table(("step", "seconds"), rows, numbers=(1,))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int], safe: bool = False) -> str:
    """A table of texts; the columns in `numbers` stand on the right; `safe` texts are HTML already."""

    def cell(tag: str, place: int, words: str) -> str:
        return f"<{tag}{' class=number' if place in numbers else ''}>{words}</{tag}>"

    def row(tag: str, texts: Sequence[str], done: bool) -> str:
        return f"<tr>{''.join(cell(tag, i, each if done else escape(each)) for i, each in enumerate(texts))}</tr>"

    return f"<table>{row('th', headings, False)}{''.join(row('td', each, safe) for each in rows)}</table>"
