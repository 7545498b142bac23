"""Many windows at once: Weft against one pass, Spark's own and Polars, on the same trades in the same run.

    python bench/many_windows.py [--rows N] [--repeat N] [--cases abcd] [--session stock] [--alone] [--quick]

Each case runs in a process of its own, so cold times are cold and peak memory is the case's own. A stock session has
none of Weft's settings and Java options.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import timedelta
from math import nan
from pathlib import Path
from typing import Any

import handwritten_side
import polars_side
import spark_side
from cases import CASES, SAMPLED, SAMPLED_QUICKLY, Case, count_answers
from common import RESULTS, in_new_process, machine, measured, peak_memory, save_json, seconds, uniform_trades
from many_windows_table import print_table, write_page

from weft.model import Window


def main() -> None:
    """Runs the chosen cases, prints the table, and keeps the raw results and the page."""
    options = arguments()
    if options.child:
        path = uniform_trades(options.rows)
        print(json.dumps(measure_child(options.child, path, options)))
        return
    uniform_trades(options.rows)
    passed = ["--rows", str(options.rows), "--repeat", str(options.repeat), "--session", options.session,
              *(["--quick"] if options.quick else [])]
    results: dict[str, Any] = {"machine": machine(), "rows": options.rows, "repeat": options.repeat, "cases": []}
    for case in chosen(options.cases):
        print(f"case {case.name}: {case.text} ...", file=sys.stderr, flush=True)
        results["cases"].append(in_new_process(__file__, "--child", case.name, *passed))
    results |= {"native": [], "handwritten": []}
    if not options.alone:
        print("Spark's own, sampled ...", file=sys.stderr, flush=True)
        results["native"] = in_new_process(__file__, "--child", "native", *passed)
    for case in (case for case in chosen(options.cases) if case.handwritten and not options.alone):
        print(f"Spark by hand, {len(case.windows)} windows ...", file=sys.stderr, flush=True)
        results["handwritten"].append(in_new_process(__file__, "--child", f"hand {case.name}", *passed))
    finish(results)
    whole = not (options.quick or options.alone) and options.cases == "abcd" and options.session == "weft"
    name = "many_windows" if whole else f"many_windows_{options.session}" if options.session != "weft" else PART
    print_table(results)
    print(f"raw results: {save_json(name, results)}")
    if name != PART and (RESULTS / "many_windows.json").exists():
        print(f"page: {write_page(json.loads((RESULTS / 'many_windows.json').read_text()))}")


PART = "tmp/many_windows_part"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeat", type=int, default=5, help="rounds; the best of each engine counts")
    parser.add_argument("--cases", default="".join(case.name for case in CASES), help="letters of the cases to run")
    parser.add_argument("--session", choices=("weft", "stock"), default="weft", help="whose settings the session has")
    parser.add_argument("--alone", action="store_true", help="without Spark's own and Spark by hand")
    parser.add_argument("--quick", action="store_true", help="two rounds and fewer samples of Spark's own")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.repeat = min(options.repeat, 2) if options.quick else options.repeat
    chosen(options.cases)
    return options


def chosen(letters: str) -> list[Case]:
    """The cases of these letters, or an exit that says which there are."""
    unknown = set(letters) - {case.name for case in CASES}
    if unknown:
        sys.exit(f"there is no case {', '.join(sorted(unknown))}: the cases are {', '.join(c.name for c in CASES)}")
    return [case for case in CASES if case.name in letters]


def measure_child(name: str, path: Path, options: argparse.Namespace) -> Any:
    """What one child process measures: a case, or the samples of Spark's own."""
    spark: list[Any] = []
    started = seconds(lambda: spark.append(session(path, options.session)))
    if name == "native":
        return measure_native(spark[0], SAMPLED_QUICKLY if options.quick else SAMPLED)
    case = next(case for case in CASES if case.name == name[-1])
    if name.startswith("hand "):
        return measure_handwritten(spark[0], case)
    return {"session": started, **measure_case(spark[0], case, path, options.repeat)}


def measure_handwritten(spark: Any, case: Case) -> dict[str, Any]:
    """Both forms of hand-written Spark, in a session that has run one pass: cold, and warm where that is short; frames
    of many windows are sampled with every tenth of them. Their answers for one window are compared with Weft's."""
    spark_side.one_pass(spark)
    found: dict[str, Any] = {"name": case.name, "one_pass": measured(lambda: spark_side.one_pass(spark))}
    for form in handwritten_side.FORMS:
        every = 10 if form == "frames" and len(case.windows) > 10 else 1
        windows = case.windows[every // 2 :: every]
        runs = [measured(lambda form=form, windows=windows: handwritten_side.run(spark, windows, form))
                for _ in range(1 if every > 1 else 2)]
        best = {unit: min(run[unit] for run in runs) * len(case.windows) / len(windows) for unit in ("wall", "cpu")}
        found[form] = {"cold": runs[0], "best": best, "sampled": every > 1}
    return found


def measure_native(spark: Any, windows: tuple[Window, ...]) -> list[dict[str, float]]:
    """Seconds of Spark's own for each sampled window, in a session that has run the first one before."""
    spark_side.native(spark, windows[0])
    return [{"range": w.range, "slide": w.slide, "seconds": spark_side.native(spark, w)} for w in windows]


def measure_case(spark: Any, case: Case, path: Path, repeat: int) -> dict[str, Any]:
    """The cold run, rounds of every engine in turn, and a check that the answers agree."""
    found: dict[str, Any] = {"name": case.name, "text": case.text, "queries": len(case.windows)}
    with peak_memory() as peak:
        looms: list[Any] = []
        found["cold_prepare"] = seconds(lambda: looms.append(weave(spark, case, path)))
        found["cold"] = seconds(lambda: looms[0].run(sink="noop"))
    found["peak_bytes"] = peak["bytes"]
    found["rounds"] = [measure_round(spark, case, path) for _ in range(repeat)]
    for engine in found["rounds"][0]:
        found[engine] = min(each[engine]["wall"] for each in found["rounds"])
        found[f"{engine}_cpu"] = min(each[engine]["cpu"] for each in found["rounds"])
    found["answers"] = sum(count_answers(path, case.windows))
    found["agreement"] = agree(weave(spark, case, path), case.windows[len(case.windows) // 2], path, case)
    return found


def measure_round(spark: Any, case: Case, path: Path) -> dict[str, dict[str, float]]:
    """One run of each engine, one after the other, so that whatever else the machine does meets all of them."""
    looms: list[Any] = []
    return {
        "one_pass": measured(lambda: spark_side.one_pass(spark)),
        "prepare": measured(lambda: looms.append(weave(spark, case, path))),
        "weft": measured(lambda: looms[0].run(sink="noop")),
        "weft_jvm": measured(lambda: in_spark(looms[0])),
        "polars": measured(lambda: polars_side.run(path, list(case.windows))),
        "polars_over": measured(lambda: polars_side.run(path, list(case.windows), over=True)),
    }


def session(path: Path, kind: str = "weft") -> Any:
    """A local session on all cores that knows the trades: Weft's own, or one with Spark's own settings."""
    from pyspark.sql import SparkSession

    from weft.spark.session.session import local_session, set_environment

    set_environment()
    spark = local_session("many windows") if kind == "weft" else SparkSession.builder.master("local[*]").getOrCreate()
    spark.read.parquet(str(path)).createOrReplaceTempView("trades")
    return spark


def weave(spark: Any, case: Case, path: Path) -> Any:
    """A new loom with the case's queries, planned; nothing is kept from one run to the next."""
    from weft.loom import Loom

    loom = Loom(spark)
    loom.source("trades", str(path), time="ts", format="parquet")
    for number, window in enumerate(case.windows):
        loom.query(f"q{number}", spark_side.query(window))
    loom.plan()
    return loom


def in_spark(loom: Any) -> None:
    """The same with every row projected by Spark, so that rows arrive in the JVM before they are thrown away."""
    from weft.spark.write import write

    planned, write.plan_jobs = write.plan_jobs, lambda *_: []
    try:
        loom.run(sink="noop")
    finally:
        write.plan_jobs = planned


def agree(loom: Any, window: Window, path: Path, case: Case) -> dict[str, Any]:
    """Weft's and Polars' answers for one window side by side: rows and column sums; raises where they differ."""
    frame = loom.run()[f"q{case.windows.index(window)}"]
    [row] = frame.selectExpr(
        "count(*)", "sum(average)", "sum(high)", "sum(volume)", "sum(trades)", "min(at)", "max(at)"
    ).collect()
    [(_, other)] = polars_side.answers(path, [window], over=False)
    ours, theirs = list(row[:5]), [other.height, *(other[n].sum() for n in ("average", "high", "volume", "trades"))]
    [counted] = count_answers(path, (window,))
    for form in handwritten_side.FORMS if window.slide == handwritten_side.MINUTE else ():
        [hand] = handwritten_side.answers(frame.sparkSession, window, form).selectExpr(
            "count(*)", "sum(average)", "sum(high)", "sum(volume)", "sum(trades)").collect()
        if not all(abs(a - b) <= 1e-9 * abs(b) for a, b in zip(ours, hand, strict=True)):
            raise SystemExit(f"{window}: Weft gives {ours}, Spark by hand ({form}) {list(hand)}")
    same = all(abs(a - b) <= 1e-9 * abs(b) for a, b in zip(ours, theirs, strict=True)) and ours[0] == counted
    if not same:
        raise SystemExit(f"{window}: Weft gives {ours}, Polars {theirs}, and there are {counted} answers")
    span = timedelta.total_seconds(row[6] - row[5])
    return {"window": str(window), "rows": ours[0], "sums": ours[1:], "hours": span / 3600, "same": same}


def finish(results: dict[str, Any]) -> None:
    """Adds to each case Spark's own time, measured where sampled and fitted elsewhere, and the ratios."""
    samples = [(Window(each["range"], each["slide"]), each["seconds"]) for each in results["native"]]
    results["native_fit"] = spark_side.fit(samples) if samples else (nan, nan)
    windows = {case.name: case.windows for case in CASES}
    for case in results["cases"]:
        mine = windows[case["name"]]
        case["native"] = spark_side.estimate(list(mine), samples) if samples else nan
        case["native_measured"] = len(set(mine) & {window for window, _ in samples})
        hand = next((each for each in results["handwritten"] if each["name"] == case["name"]), None)
        case["to_handwritten"] = {form: hand[form]["best"]["wall"] / case["weft"] for form in handwritten_side.FORMS
                                  } if hand else {}
        case["per_second"] = case["answers"] / case["weft"]
        case["to_one_pass"] = case["weft"] / case["one_pass"]
        case["to_native"] = case["native"] / case["weft"]
        case["to_polars"] = case["polars"] / case["weft"]
        case["to_polars_over"] = case["polars_over"] / case["weft"]


if __name__ == "__main__":
    main()
