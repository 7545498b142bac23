"""ARGUS (002 §4): incremental against re-aggregation, shared against unshared, finer groupings against rows.

    python bench/argus.py [--only a,b,c,d] [--streams fed,med] [--times 1,20] [--counts ""] [--repeat N] [--quick]

(a) Table 4: 4,000 new rows arrive, and the rows of all queries in a folder of Parquet are brought up to date from kept
    slices and the new file, or written again from all rows. Seconds are also given for slices alone, which is what
    ARGUS maintains. Over several sizes of the history it shows whether an increment takes the same whatever was before.
(b) Fig. 10: the same increments over the number of queries, all in one plan, or each for itself (sampled).
(c) Fig. 11: a finer and a coarser grouping over the size of the increment, the coarser one from rows or from the finer.
(d) Fig. 9: some queries, each alone: an increment incrementally and anew.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from argus_data import FED, PAIRS, STREAMS, Folder, Stream, query
from common import RESULTS, machine, measured, save_json

COUNTS = (10, 50, 100, 200)  # and all of Table 4's
SAMPLE = 5
SIZES = (1, 10, 100, 1_000, 10_000, 30_000)
# The ways in which the pairs of (c) are run, and what `Loom.run` is told for each: the first derives no groupings.
WAYS: dict[str, dict[str, Any]] = {"from rows": {"optimizer": "tri_weave"}, "from the finer": {}}
HOME = RESULTS / "tmp" / "argus"


def main() -> None:
    """Measures the parts that are asked for, prints their tables and keeps the raw results."""
    options = arguments()
    spark = session()
    for name, part in (("a", increments), ("b", numbers), ("c", sizes), ("d", singles)):
        for row in part(spark, options) if name in options.only else ():
            path = keep_row(name, row, options)
    shutil.rmtree(HOME, ignore_errors=True)
    print(f"raw results: {path}")


def keep_row(part: str, row: dict[str, Any], options: argparse.Namespace) -> Path:
    """Keep a line as soon as it is measured; parts, streams and sizes that are not measured now stay."""
    name = "tmp/argus_part" if options.quick else "argus"
    file = RESULTS / f"{name}.json"
    before = json.loads(file.read_text()) if file.exists() else {}
    return save_json(name, {**before, "machine": machine(), part: merge_rows(before.get(part, []), [
        {**row, "repeat": options.repeat}])})


def merge_rows(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Lines of a part as they are now, and those of other streams and sizes as they were measured before."""
    def place(row: dict[str, Any]) -> tuple:
        return tuple(row.get(name) for name in ("stream", "queries", "history", "query", "pair", "rows"))

    there = {place(row) for row in now}
    return [*(row for row in before if place(row) not in there), *now]


def session() -> Any:
    """A local session."""
    from weft.spark.session.session import local_session

    return local_session("argus")


def increments(spark: Any, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """(a) What an increment takes, incrementally and from all rows again."""
    print(f"(a) {'':<5}{'queries':>8}{'history':>11}{'increm. s':>11}{'anew s':>8}{'ratio':>7}{'paper':>7}"
          f"{'| slices: increm. s':>21}{'anew s':>8}{'ratio':>7}")
    for stream in options.streams:
        for times in options.times:
            row = increment(spark, stream, times, options)
            best = {name: min(values) for name, values in row["seconds"].items()}
            print(f"    {stream.name:<5}{row['queries']:>8}{row['history']:>11,}{best['incremental']:>11.2f}"
                  f"{best['anew']:>8.2f}{best['anew'] / best['incremental']:>7.2f}{stream.paper:>7.1f}"
                  f"{best['new slices']:>21.2f}{best['all slices']:>8.2f}"
                  f"{best['all slices'] / best['new slices']:>7.2f}", flush=True)
            yield row


def increment(spark: Any, stream: Stream, times: int, options: argparse.Namespace) -> dict[str, Any]:
    """One stream at one size: rounds of an increment, answered both ways in turn."""
    folder, asked = Folder(stream, times, HOME / "a"), stream.asked(options.queries or stream.queries)
    note(f"{stream.name} × {times}: the first run reads the history")
    loom, out = loom_over(spark, folder, asked), folder.data.parent
    loom.run(sink=str(out / "kept"), incremental=True)
    plain = loom_over(spark, folder, asked)  # each of its runs lists the files that are there
    seconds: dict[str, list[float]] = {"incremental": [], "anew": [], "new slices": [], "all slices": []}
    changed: list[int] = []
    written: list[int] = []
    for turn in range(options.repeat + 1):
        note(f"{stream.name} × {times}: round {turn}")
        folder.grow(stream.increment)
        runs: list[Any] = []
        took = measured(lambda: runs.append(loom.run(sink=str(out / "kept"), incremental=True)))["wall"]  # noqa: B023
        row = (took, measured(lambda: plain.run(sink=str(out / "plain")))["wall"],
               sum(item["seconds"] for item in runs[0].sources), all_slices(plain))
        changed.append(sum(line["rows"] > 0 for line in runs[0].report))
        written.append(sum(line["rows"] for line in runs[0].report))
        if turn:  # the first is for warming up
            for name, value in zip(seconds, row, strict=True):
                seconds[name].append(value)
    loom.close()
    plain.close()
    return {"stream": stream.name, "queries": len(asked), "history": stream.history * times, "seconds": seconds,
            "changed_queries": changed, "written_rows": written}


def all_slices(loom: Any) -> float:
    """Seconds to make the slices of all scans from all rows."""
    def work() -> None:
        plan = loom.plan()
        for node in plan.stages.roots:
            plan.context.slices(node).write.format("noop").mode("overwrite").save()

    return measured(work)["wall"]


def numbers(spark: Any, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """(b) What an increment takes over the number of queries, in one plan and each for itself."""
    print(f"(b) {'':<5}{'queries':>8}{'shared s':>10}{'unshared s, sampled':>21}{'ratio':>7}")
    for stream in options.streams:
        top = options.queries or stream.queries
        for count in (*(c for c in options.counts if c < top), top):
            row = {"stream": stream.name, "queries": count, **sharing(spark, stream, count, options)}
            print(f"    {stream.name:<5}{count:>8}{row['shared']:>10.2f}{row['unshared']:>21.1f}"
                  f"{row['unshared'] / row['shared']:>7.1f}", flush=True)
            yield row


def sharing(spark: Any, stream: Stream, count: int, options: argparse.Namespace) -> dict[str, float]:
    """Seconds of an increment for all queries together, and for each of a few times the number of all."""
    folder, asked = Folder(stream, 1, HOME / "b"), stream.asked(count)
    alone = [f"q{i * count // SAMPLE}" for i in range(min(SAMPLE, count))]
    loom = loom_over(spark, folder, asked)
    apart = [loom_over(spark, folder, {name: asked[name]}, folder.store / name) for name in alone]
    out = folder.data.parent
    works = {"shared": lambda: loom.run(sink=str(out / "kept"), incremental=True),
             "unshared": lambda: [one.run(sink=str(out / "apart"), incremental=True) for one in apart]}
    best: dict[str, float] = {}
    for turn in range(options.repeat + 1):
        for name, work in works.items():
            note(f"{stream.name}, {count} queries: round {turn}, {name}")
            folder.grow(stream.increment)
            work() if not turn else None  # keeps the history
            took = measured(work)["wall"] if turn else float("inf")
            best[name] = min(best.get(name, took), took)
    for one in (loom, *apart):
        one.close()
    return {"shared": best["shared"], "unshared": best["unshared"] * count / len(alone)}


def singles(spark: Any, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """(d) What an increment takes for one query alone, incrementally and anew."""
    print(f"(d) {'':<5}{'query':>8}{'history':>11}{'increm. s':>11}{'anew s':>8}{'ratio':>7}")
    for stream in options.streams:
        folder, asked = Folder(stream, options.times[-1], HOME / "d"), stream.asked(stream.queries)
        for name in (f"q{i * stream.queries // SAMPLE}" for i in range(SAMPLE)):
            row = {"stream": stream.name, "query": name, "history": folder.whole,
                   **single(spark, folder, name, asked[name], options)}
            print(f"    {stream.name:<5}{name:>8}{row['history']:>11,}{row['incremental']:>11.2f}{row['anew']:>8.2f}"
                  f"{row['anew'] / row['incremental']:>7.2f}", flush=True)
            yield row


def single(spark: Any, folder: Folder, name: str, sql: str, options: argparse.Namespace) -> dict[str, float]:
    """The best seconds of some increments of one query, both ways."""
    loom, out = loom_over(spark, folder, {name: sql}, folder.store / name), folder.data.parent
    loom.run(sink=str(out / "kept"), incremental=True)
    plain = loom_over(spark, folder, {name: sql}, folder.store / "plain")
    took: dict[str, list[float]] = {"incremental": [], "anew": []}
    for _ in range(options.repeat + 1):
        folder.grow(folder.stream.increment)
        took["incremental"].append(measured(lambda: loom.run(sink=str(out / "kept"), incremental=True))["wall"])
        took["anew"].append(measured(lambda: plain.run(sink=str(out / "plain")))["wall"])
    loom.close()
    plain.close()
    return {way: min(values[1:]) for way, values in took.items()}


def sizes(spark: Any, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """(c) What increments of many sizes take for a finer and a coarser grouping, in every way there is."""
    print(f"(c) {'':<8}{'rows':>8}" + "".join(f"{way + ', s':>18}{'ms a row':>10}" for way in WAYS))
    for pair, (finer, coarser) in PAIRS.items():
        asked = {name: query("fed", "", "sum(amount) AS total, count(*) AS n", keys, (3650, 3650))
                 for name, keys in (("finer", finer), ("coarser", coarser))}
        for size in options.sizes:
            row = {"pair": pair, "rows": size, **{way: grown(spark, asked, size, way, options) for way in WAYS}}
            print(f"    {pair:<8}{size:>8,}" + "".join(f"{row[way]:>18.2f}{1000 * row[way] / size:>10.2f}"
                                                      for way in WAYS), flush=True)
            yield row


def grown(spark: Any, asked: dict[str, str], size: int, way: str, options: argparse.Namespace) -> float:
    """Seconds of the best of some increments of one size."""
    folder = Folder(FED, 1, HOME / "c")
    loom = loom_over(spark, folder, asked)
    loom.run(sink="noop", incremental=True, **WAYS[way])
    plan, took = loom.plan(**WAYS[way]), []
    note(f"{size:,} rows, {way}: {len(plan.nodes) - len(plan.scans)} of {len(plan.nodes)} groupings are derived")
    for _ in range(options.repeat + 1):
        folder.grow(size)
        took.append(measured(lambda: loom.run(sink="noop", incremental=True, **WAYS[way]))["wall"])
    loom.close()
    return min(took[1:])


def loom_over(spark: Any, folder: Folder, asked: dict[str, str], store: Path | None = None) -> Any:
    """A loom over the files that are there now."""
    from weft import Loom

    loom = Loom(spark, store=store or folder.store)
    loom.source(folder.stream.name, Path(folder.data), time="ts", format="parquet")
    loom.add_queries(asked)
    return loom


def note(text: str) -> None:
    """What is going on, for who waits."""
    print(f"{text} ...", file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default="a,b,c,d", help="the parts to measure")
    parser.add_argument("--streams", default="fed,med", help="the streams of (a), (b) and (d)")
    parser.add_argument("--counts", default=",".join(map(str, COUNTS)), help="numbers of queries of (b), beside all")
    parser.add_argument("--times", default="1,20", help="sizes of (a)'s history, as multiples of the paper's")
    parser.add_argument("--repeat", type=int, default=3, help="rounds after a first; the best of each counts")
    parser.add_argument("--queries", type=int, help="queries of (a) and at most of (b); else as in Table 4")
    parser.add_argument("--quick", action="store_true", help="one round, few queries, the paper's sizes only")
    options = parser.parse_args()
    options.sizes = SIZES[::3] if options.quick else SIZES
    if options.quick:
        options.times, options.repeat, options.queries = "1", 1, 12
    options.times, options.only = [int(n) for n in options.times.split(",")], options.only.split(",")
    options.streams = [stream for stream in STREAMS if stream.name in options.streams.split(",")]
    options.counts = [int(n) for n in options.counts.split(",") if n]
    return options


if __name__ == "__main__":
    main()
