"""A bench of two versions in one run: another revision and this checkout in turn, and the best figures of both.

    python bench/before_after.py many_windows HEAD~20 [--rounds 3] [-- --quick --cases ab]
    python bench/before_after.py streaming HEAD~20 [--rounds 2] [-- --only windows --triggers 6]

Each version runs its own script with its own package, from a copy in a temporary folder; what follows `--` goes to
both. Kept results and pages stay as they are.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from final_tables import Sheet, digits
from pages import show

ROOT = Path(__file__).parents[1]
Figures = dict[str, float]


def main() -> None:
    """Runs both versions in turn and prints the best figures of both."""
    options = arguments()
    with TemporaryDirectory(prefix="weft-before-after-") as place:
        folders = {"before": Path(place, "before"), "after": Path(place, "after")}
        unpack_revision(options.revision, folders["before"])
        copy_checkout(folders["after"])
        found: dict[str, list[Figures]] = {version: [] for version in folders}
        for version in order(options.rounds):
            print(f"{version} ...", file=sys.stderr, flush=True)
            found[version].append(run_bench(folders[version], options.bench, options.passed))
    show([compare(options.bench, options.revision, best(found["before"]), best(found["after"]))])


def arguments() -> argparse.Namespace:
    """The command line; what follows `--` is the bench's own."""
    ours, passed = split_arguments(sys.argv[1:])
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("bench", choices=FIGURES)
    parser.add_argument("revision", help="what git calls the other version: a commit, a tag, a branch")
    parser.add_argument("--rounds", type=int, default=2, help="how often each version runs (default 2)")
    return argparse.Namespace(**vars(parser.parse_args(ours)), passed=passed)


def split_arguments(given: list[str]) -> tuple[list[str], list[str]]:
    """What stands before `--` and what stands after it."""
    place = given.index("--") if "--" in given else len(given)
    return given[:place], given[place + 1:]


def order(rounds: int) -> Iterator[str]:
    """Which version runs next: the first of a round is the second of the next, for the machine warms and cools."""
    for number in range(rounds):
        yield from ("before", "after") if number % 2 == 0 else ("after", "before")


def unpack_revision(revision: str, folder: Path) -> None:
    """Writes the files of a revision into a folder."""
    done = subprocess.run(["git", "archive", "--format=tar", revision], cwd=ROOT, capture_output=True)
    if done.returncode:
        sys.exit(f"git has no revision '{revision}': {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")


def copy_checkout(folder: Path) -> None:
    """Copies this checkout as it is, with what is not committed yet."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():  # one that was deleted is listed until that is committed
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def run_bench(folder: Path, bench: str, passed: list[str]) -> Figures:
    """The figures of one run of a version's own bench."""
    results = folder / "bench" / "results"
    for path in written(results, bench):  # else figures that were kept would pass for those of this run
        path.unlink()
    subprocess.run([sys.executable, f"bench/{bench}.py", *passed], cwd=folder, check=True, stdout=sys.stderr,
                   env={**os.environ, "PYTHONPATH": str(folder)})
    found = written(results, bench)
    if not found:
        sys.exit(f"bench/{bench}.py of the version {folder.name} has left no results in bench/results.")
    return FIGURES[bench](json.loads(found[0].read_text()))


def written(results: Path, bench: str) -> list[Path]:
    """The raw results of a bench, of a whole run or of a part."""
    return [*results.glob(f"{bench}.json"), *results.glob(f"tmp/{bench}*.json")]


def many_windows(results: dict[str, Any]) -> Figures:
    """Seconds of each case, and of one pass beside it."""
    return {f"{case['name']}) {title}": case[engine] for case in results["cases"]
            for engine, title in (("weft", f"{case['queries']} windows"), ("one_pass", "one pass"))}


def streaming(results: dict[str, Any]) -> Figures:
    """Seconds of the best trigger of each run."""
    return best({row["run"]: row["best"]} for part in results.values() for row in part["found"] if "best" in row)


FIGURES: dict[str, Callable[[dict[str, Any]], Figures]] = {"many_windows": many_windows, "streaming": streaming}


def best(runs: Iterable[Figures]) -> Figures:
    """The least of each figure."""
    found: Figures = {}
    for figures in runs:
        for name, value in figures.items():
            found[name] = min(value, found.get(name, value))
    return found


def compare(bench: str, revision: str, before: Figures, after: Figures) -> Sheet:
    """Both versions' figures, and how many times the time of the other this checkout takes."""
    rows = [[name, digits(before[name]), digits(after[name]), f"{after[name] / before[name]:.2f}"]
            for name in before if name in after]
    apart = sorted({*before} ^ {*after})
    notes = (f"Only one of them has {', '.join(apart)}.",) if apart else ()
    return Sheet(bench, f"{bench}: seconds, the best of all runs",
                 ("figure", f"before ({revision})", "this checkout", "after / before"), rows, notes)


if __name__ == "__main__":
    main()
