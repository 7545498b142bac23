"""Fuzzing for so many minutes: `python -m tests.fuzz --minutes 30 --seed 7`."""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import time
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from tests.fuzz.case import Case
from tests.fuzz.check import Verdict, check, check_together
from tests.fuzz.draw import KINDS, draw_case
from tests.fuzz.script import alike, rough, script_of, shown, signature
from tests.fuzz.session import make_session
from tests.fuzz.shrink import shrink
from tests.fuzz.tally import Tally

EACH = 3  # so many failures that look alike are made smaller
PROGRESS = 15.0


def main() -> int:
    """Draw and check cases until the time is over; 1 where any failed."""
    asked = arguments().parse_args()
    asked.tell = sys.stderr if asked.json else sys.stdout
    spark = make_session(asked.session)
    if asked.replay:
        return replay(spark, asked.replay)
    tally, told = Tally(), 0.0
    kinds = asked.kinds.split(",") if asked.kinds else []
    number = asked.first
    while tally.seconds < asked.minutes * 60 and (asked.cases is None or number < asked.first + asked.cases):
        case = usual(draw_case(asked.seed, number, kinds[number % len(kinds)] if kinds else None), asked.usual)
        verdicts = check(spark, case)
        tally.add(case, verdicts)
        report(spark, case, verdicts, tally, asked)
        number += 1
        if tally.seconds - told > PROGRESS:
            told = tally.seconds
            print(f"[{told:5.0f} s] case {number - 1}: {tally.line()}", file=asked.tell, flush=True)
    print(json.dumps(tally.to_dict(), ensure_ascii=False, indent=1) if asked.json else tally)
    return 1 if tally.failures else 0


def arguments() -> argparse.ArgumentParser:
    """What may be asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="another one gives other cases")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--cases", type=int, help="end after so many cases")
    parser.add_argument("--kinds", help=f"ways to run, of {','.join(KINDS)}")
    parser.add_argument("--usual", default="", help="parts of names of settings, or `names`, to leave as usual")
    parser.add_argument("--session", choices=("stock", "weft"), default="stock")
    parser.add_argument("--shrink", type=float, default=60.0, help="seconds to make a failure smaller")
    parser.add_argument("--folder", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--replay", type=Path, help="a saved case to check again")
    parser.add_argument("--json", action="store_true", help="the summary as JSON")
    return parser


def usual(case: Case, words: str) -> Case:
    """The case with some settings left as they are."""
    left = [word for word in words.split(",") if word]
    kept = {name: value for name, value in case.settings.items() if not any(word in name for word in left)}
    case_counts = "spark.sql.caseSensitive" in kept
    names = {role: name for role, name in case.names.items() if case_counts or name not in ("X", "K")}
    return replace(case, settings=kept, names={} if "names" in left else names)


def report(spark: SparkSession, case: Case, verdicts: list[Verdict], tally: Tally, asked: argparse.Namespace) -> None:
    """Make the failures of a case smaller, keep them, and tell those that are new."""
    place = f"seed {case.seed} case {case.number}"
    for look, verdict in {rough(case, verdict): verdict for verdict in verdicts if verdict.failed}.items():
        tally.looks[look] += 1
        if tally.looks[look] > EACH:
            tally.failures.setdefault(f"not made smaller: {look}", []).append(place)
            continue
        small, why = smallest(spark, case, verdict, asked.shrink)
        name = signature(small, why)
        if name not in tally.failures:
            print(f"\n{name}\n{shown(small, why)}", file=asked.tell, flush=True)
            tally.failures[name] = [f"{keep(small, why, name, asked.folder)}"]
        tally.failures[name].append(place)


def smallest(spark: SparkSession, case: Case, verdict: Verdict, seconds: float) -> tuple[Case, Verdict]:
    """A small case that fails as this one does, and its verdict."""
    last = [verdict]

    def fails(smaller: Case) -> bool:
        found = [v for v in check_together(spark, smaller) if v.outcome == verdict.outcome and alike(v, verdict)]
        last[:] = found[:1] or last
        return bool(found)

    small = shrink(case, verdict, fails, seconds)
    return small, last[0]


def keep(case: Case, verdict: Verdict, name: str, folder: Path) -> Path:
    """The failing case in a folder, as a program and as JSON."""
    folder.mkdir(exist_ok=True, parents=True)
    place = folder / f"{case.run.kind}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    place.with_suffix(".py").write_text(script_of(case, verdict))
    place.with_suffix(".json").write_text(case.to_json())
    return place.with_suffix(".py")


def replay(spark: SparkSession, place: Path) -> int:
    """Check a saved case again."""
    began, case = time.monotonic(), Case.from_json(place.read_text())
    verdicts = check(spark, case)
    print("\n".join(f"{verdict.outcome} {list(verdict.queries)}: {verdict.detail}" for verdict in verdicts))
    print(f"{time.monotonic() - began:.1f} seconds")
    return 1 if any(verdict.failed for verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
