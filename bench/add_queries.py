"""Adding and planning queries: the demo's 51 in a fresh session, and a thousand, together and one by one.

    python bench/add_queries.py [--fresh N] [--queries N] [--repeat N] [--quick]

"together" is `loom.add_queries`, "one by one" `loom.query` for each. A thousand queries come in three kinds: few SELECT
lists over ten windows with constants of their own; one SELECT list with predicates of their own; and queries that have
hardly an output in common.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cases import TEN
from common import RESULTS, in_new_process, machine, measured, save_json, uniform_trades
from predicates import QUERY
from predicates import SHAPES as PREDICATES
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

FIRST, MANY, MORE = 3.0, 8.0, 10.0  # seconds for the demo's, seconds for a thousand, milliseconds for one more
WAYS = ("together", "one by one")
STEPS = ("source", "add", "plan")
LISTS = (
    "avg(price) AS average_{n}",
    "avg(price) AS average, max(price) AS high_{n}",
    "sum(volume) / count(*) AS size_{n}",
    "max(price) - {n} AS above, count(*) AS trades",
    "CASE WHEN max(price) > {n} THEN 'high' ELSE 'low' END AS level, avg(price) * {n} AS scaled",
    "max(price) AS high, avg(price) AS average, sum(volume) AS volume, count(*) AS trades_{n}",
)


def few_lists(number: int, _: int) -> str:
    """The number-th query: its window comes round every ten, its outputs every six, its constants never."""
    window, outputs = TEN[number % len(TEN)], LISTS[number % len(LISTS)]
    having = f" HAVING count(*) > {number % 7} AND max(price) > {number / 100}" if number % 2 else ""
    return (
        f"SELECT symbol, window.end AS at, {outputs.format(n=number)} FROM trades "
        f"GROUP BY symbol, window(ts, '{window.range // 1_000_000} seconds', '1 minute'){having}"
    )


def own_predicates(number: int, count: int) -> str:
    """One SELECT list, a predicate a query."""
    return QUERY.format(PREDICATES["both"](number, count))


def own_outputs(number: int, _: int) -> str:
    """One to four outputs of 2700 that there are, one of three groupings, every other query with a predicate."""
    rng = random.Random(number)

    def call() -> str:
        function = rng.choice(("sum", "avg", "max", "min", "count", "stddev_pop"))
        return f"{function}({rng.choice(('price', 'volume', 'price * volume', 'volume % 7', 'price / 3'))})"

    outputs = ", ".join(f"{call()} {rng.choice('+-*')} {call()} AS x{i}" for i in range(rng.randint(1, 4)))
    where = f" WHERE {rng.choice(('price', 'volume'))} > {rng.randint(1, 200)}" if number % 2 else ""
    keys, minutes = rng.choice(("symbol", "exchange", "symbol, exchange")), rng.choice((5, 10, 20, 60))
    return (f"SELECT {keys}, window.end AS at, {outputs} FROM trades{where} "
            f"GROUP BY {keys}, window(ts, '{minutes} minutes', '1 minute')")


KINDS: dict[str, Callable[[int, int], str]] = {
    "few SELECT lists": few_lists, "own predicates": own_predicates, "own outputs": own_outputs,
}


def main() -> None:
    """Measures fresh sessions, then a thousand queries in one; prints the best of each."""
    options = arguments()
    if options.first:
        print(json.dumps(first(options.rows, options.first)))
        return
    fresh: dict[str, list[Any]] = {way: [] for way in WAYS}
    for turn in range(options.fresh):
        for way in WAYS[:: 1 - 2 * (turn % 2)]:
            print(f"fresh session {turn}: {way} ...", file=sys.stderr, flush=True)
            fresh[way].append(in_new_process(__file__, "--first", way, "--rows", str(options.rows)))
    many = thousand(options)
    results = {"machine": machine(), "queries": options.queries, "fresh": fresh, "many": many}
    show(results)
    print(f"raw results: {save_json('tmp/add_queries_part' if options.quick else 'add_queries', results)}")


def first(rows: int, way: str) -> dict[str, Any]:
    """The demo's queries in this new session: its start, then each step."""
    from examples.demo.catalogue import shipped
    from examples.demo.run import start
    from weft.cli.sample_trades import Trades, make

    data, sessions = make(RESULTS / "tmp" / f"demo-{rows}", Trades(rows=rows)), []
    started = measured(lambda: sessions.append(start()))
    texts = {query.name: query.sql for query in shipped()}
    return {"session": started, **steps(sessions[0], data, texts, way), "again": steps(sessions[0], data, texts, way)}


def steps(spark: Any, path: Path, texts: dict[str, str], way: str) -> dict[str, Any]:
    """Seconds of each step of a new loom with these queries."""
    from weft.loom import Loom

    loom = Loom(spark)
    works = (lambda: loom.source("trades", str(path), time="ts", format="parquet"), lambda: add(loom, texts, way),
             loom.plan)
    found = {step: measured(work) for step, work in zip(STEPS, works, strict=True)}
    loom.close()
    return found


def add(loom: Any, texts: dict[str, str], way: str) -> None:
    """The queries added in one of the ways; versions before `add_queries` know only one."""
    if way == "together" and hasattr(loom, "add_queries"):
        loom.add_queries(texts)
        return
    for name, sql in texts.items():
        loom.query(name, sql)


def thousand(options: argparse.Namespace) -> dict[str, Any]:
    """Rounds of adding ten and many queries of each kind in each way, in one session; the first of all is not kept."""
    from weft.spark.session.session import local_session

    spark, path, found = local_session("add queries"), uniform_trades(options.rows), {}
    steps(spark, path, {"q": own_outputs(1, 1)}, WAYS[0])
    for kind, text in KINDS.items():
        for way in WAYS:
            for count in (10, options.queries):
                print(f"{count} queries, {kind}, {way} ...", file=sys.stderr, flush=True)
                texts = {f"q{i}": text(i, count) for i in range(count)}
                found[f"{kind}, {way}, {count}"] = [steps(spark, path, texts, way) for _ in range(options.repeat)]
    return found


def total(rounds: list[dict[str, Any]], unit: str, *names: str) -> float:
    """The least seconds that some steps take together."""
    return min(sum(each[name][unit] for name in names) for each in rounds)


def show(results: dict[str, Any]) -> None:
    """The tables and the verdicts."""
    table = Table("", "way", title="Adding and planning, seconds (processor seconds)", title_justify="left")
    for heading in (*STEPS, "together", "again, warm"):
        table.add_column(heading, justify="right")
    for way, rounds in results["fresh"].items():
        table.add_row("demo's 51, fresh session", way, *cells(rounds), in_all([each["again"] for each in rounds]))
    for name, rounds in results["many"].items():
        kind, way, count = name.split(", ")
        table.add_row(f"{count} with {kind}", way, *cells(rounds), "")
    Console(width=140).print(table)
    count = results["queries"]
    for title, took, most in (
        ("the demo's queries, first", total(results["fresh"]["together"], "wall", *STEPS), FIRST),
        *((f"{count} with {kind}", total(results["many"][f"{kind}, together, {count}"], "wall", "add", "plan"), MANY)
          for kind in KINDS),
        ("one more query alone, ms", one_more(results), MORE),
    ):
        print(f"{title}: {took:.2f} (at most {most:g}: {'reached' if took <= most else 'NOT reached'})")


def cells(rounds: list[dict[str, Any]]) -> list[str]:
    """Each step's best, and that of all together."""
    each = (f"{total(rounds, 'wall', step):.2f} ({total(rounds, 'cpu', step):.1f})" for step in STEPS)
    return [*each, in_all(rounds)]


def in_all(rounds: list[dict[str, Any]]) -> str:
    """The best of all steps together."""
    return f"{total(rounds, 'wall', *STEPS):.2f} ({total(rounds, 'cpu', *STEPS):.1f})"


def one_more(results: dict[str, Any]) -> float:
    """Milliseconds that each query beyond the first ones costs where windows and components exist."""
    few, many = (total(results["many"][f"few SELECT lists, one by one, {count}"], "wall", "add", "plan")
                 for count in (10, results["queries"]))
    return 1000 * (many - few) / max(results["queries"] - 10, 1)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--fresh", type=int, default=3, help="fresh sessions for each way; the best counts")
    parser.add_argument("--repeat", type=int, default=2, help="rounds of many queries; the best counts")
    parser.add_argument("--quick", action="store_true", help="one round of a tenth of the queries")
    parser.add_argument("--first", choices=WAYS, help=argparse.SUPPRESS)  # measure this process's own session
    options = parser.parse_args()
    if options.quick:
        options.queries, options.fresh, options.repeat = options.queries // 10, 1, 1
    return options


if __name__ == "__main__":
    main()
