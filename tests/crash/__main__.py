"""`python -m tests.crash`: kills a stream again and again and compares its answers with a batch run."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.crash.phases import OTHERS, PHASES
from tests.crash.queries import WORKLOADS
from tests.crash.run import Outcome, crash
from weft.errors import RunError, WeftError


def main() -> int:
    """Runs the crash test; 0 if every answer is there once and right, 1 if not."""
    options = arguments()
    run = partial(crash, kills=options.kills, seed=options.seed, workload=options.workload)
    # Machines read stdout, so that people read stderr then.
    say = partial(print, file=sys.stderr if options.json else sys.stdout, flush=True)
    try:
        if options.folder is None:
            with tempfile.TemporaryDirectory(prefix="weft-crash-") as folder:
                outcome = run(Path(folder), say=say)
        else:
            outcome = run(emptied(options.folder), say=say)
    except (WeftError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(outcome.to_dict(), indent=1) if options.json else shown(outcome))
    return 0 if outcome.ok else 1


def emptied(folder: Path) -> Path:
    """The folder as an absolute path, or an error where something is in it."""
    if folder.exists() and any(folder.iterdir()):
        raise RunError(f"'{folder}' is not empty: give a new folder, or none to use a temporary one.")
    return folder.absolute()


def shown(outcome: Outcome) -> str:
    """The outcome for people."""
    hits = outcome.phases
    listed = ", ".join(f"{hits.get(phase, 0)} in {phase}" for phase in (*PHASES, *OTHERS))
    lines = [f"{len(outcome.kills)} kills: {listed}",
             f"{outcome.input_rows} rows in {outcome.files} files, {outcome.triggers} triggers, {outcome.seconds} s"]
    lines += [f"{each.query}: {each.rows} rows, {each.missing} missing, {each.doubled} doubled, "
              f"{each.unexpected} unexpected, {each.different} different" for each in outcome.compared]
    lines += [f"left over: {', '.join(outcome.leftovers)}"] if outcome.leftovers else []
    return "\n".join([*lines, "exactly once: yes" if outcome.ok else "exactly once: NO"])


def arguments() -> argparse.Namespace:
    """The command line."""
    words = (__doc__ or "").split(": ", 1)[-1]
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=words)
    parser.add_argument("--kills", type=int, default=30, help="how often to kill the stream (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of rows and moments (default: %(default)s)")
    parser.add_argument("--workload", choices=list(WORKLOADS), default="folded",
                        help="slices are cut by workers (folded), or by Spark as a query keeps bags of values "
                             "(bags); or rows are dropped, another share at each start (shedding)")
    parser.add_argument("--folder", type=Path, help="where to work, and to look afterwards (default: a temporary one)")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
