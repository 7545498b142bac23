"""The crash test: feed a stream, kill it in every phase of a trigger, start it again, let it end, and compare."""

from __future__ import annotations

import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.crash.feed import Feed
from tests.crash.phases import PHASES, Scene
from tests.crash.process import POLL, ended, kill, started
from tests.crash.queries import WORKLOAD
from tests.crash.verdict import Compared, compare_all, leftovers
from weft.errors import RunError

# How many files wait at the start, and come with each trigger, of which one reads two.
WAITING, ARRIVING = 8, 2
# How many seconds a process may take until it is where it shall be killed, or has ended.
PATIENCE = 600.0
# How long after the begin of a phase a kill may come, in seconds: about as long as the phase takes.
SPREAD = {"source": 0.5, "final": 0.5, "staging": 1.0, "moving": 0.2, "commit": 0.1}
# How many triggers a process may do before the one in which it is killed. With none of them nothing would ever be done.
PATHS = (0, 1, 0, 2)
Say = Callable[[str], None]


@dataclass(frozen=True)
class Kill:
    """A kill: where it was aimed at and where it fell, in which trigger, after how many seconds."""

    aim: str
    phase: str
    trigger: int
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """What the crash test found."""

    seed: int
    kills: tuple[Kill, ...]
    files: int
    input_rows: int
    triggers: int
    compared: tuple[Compared, ...]
    leftovers: tuple[str, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether nothing is missing, doubled, different or left over."""
        return all(each.ok for each in self.compared) and not self.leftovers

    @property
    def phases(self) -> dict[str, int]:
        """How many kills fell into each phase."""
        return dict(Counter(each.phase for each in self.kills))

    def to_dict(self) -> dict:
        """The outcome as plain values."""
        found = asdict(self)
        found["compared"] = [each.to_dict() for each in self.compared]
        return {"ok": self.ok, "phases": self.phases, **found}


def finish_apart(folder: Path) -> None:
    """Let a process of its own answer all that is there, as a stream and as a batch run."""
    log, until = folder / "logs" / "finish.log", time.monotonic() + PATIENCE
    with started(folder, log, "--finish") as child:
        while not ended(child) and time.monotonic() < until:
            time.sleep(POLL)
    if child.returncode != 0:
        raise RunError(f"the stream did not come to its end in {PATIENCE:.0f} s: {ending(log)}")


def crash(folder: Path, kills: int, seed: int, say: Say, workload: str = "folded",
          finish: Callable[[Path], None] = finish_apart) -> Outcome:
    """Run the crash test in an empty folder; `finish` is what answers the rest after the last kill."""
    began, rng = time.monotonic(), random.Random(seed)
    (folder / "in").mkdir(parents=True)
    (folder / "side").mkdir()
    (folder / WORKLOAD).write_text(workload)
    (folder / "logs").mkdir()
    feed = Feed(folder / "in", seed, side=folder / "side")
    done: list[Kill] = []
    feed.write(WAITING)
    for i in range(kills):
        done.append(killed(folder, feed, rng, aim_after(done, rng), PATHS[i % len(PATHS)], i))
        say(f"kill {i + 1}/{kills}: {told(done[-1])}")
    watermark = feed.end()
    say("running to the end, then as a batch")
    finish(folder)
    last = Scene(folder, folder, 0.0).done
    return Outcome(seed, tuple(done), feed.written, feed.rows, last + 1, compare_all(folder, watermark),
                   leftovers(folder), round(time.monotonic() - began, 1))


def aim_after(done: list[Kill], rng: random.Random) -> str:
    """A phase that was hit least."""
    hits = Counter(each.phase for each in done)
    return min(PHASES, key=lambda phase: (hits[phase], rng.random()))


def told(kill: Kill) -> str:
    """A kill for people."""
    missed = "" if kill.aim == kill.phase else f" (aimed at {kill.aim})"
    return f"{kill.phase} of trigger {kill.trigger}{missed}, after {kill.seconds:.1f} s"


def killed(folder: Path, feed: Feed, rng: random.Random, aim: str, skipped: int, number: int) -> Kill:
    """Start the stream, and kill it in a phase after it has done some triggers."""
    scene = Scene(folder, folder / "logs" / f"{number:03d}.log", time.time())
    with started(folder, scene.log) as child:
        await_phase(scene, child, feed, aim, skipped)
        time.sleep(rng.uniform(0.0, SPREAD[aim]))
        kill(child)
        # While its scratch files, which tell where it was, are still there.
        return Kill(aim, scene.phase(), scene.begun, round(time.time() - scene.began, 1))


def await_phase(scene: Scene, child: subprocess.Popen, feed: Feed, aim: str, skipped: int) -> None:
    """Wait until the stream has done some triggers and then comes to a phase; files come as it takes them."""
    begun, until = scene.begun, scene.done + skipped
    while not (scene.done >= until and scene.phase() == aim):
        if scene.begun > begun:
            begun = scene.begun
            feed.write(ARRIVING)
        if ended(child):
            raise RunError(f"the stream ended by itself: {ending(scene.log)}")
        if time.time() - scene.began > PATIENCE:
            raise RunError(f"the stream did not come to '{aim}' in {PATIENCE:.0f} s: {ending(scene.log)}")
        time.sleep(POLL)


def ending(log: Path) -> str:
    """The last lines of a log and where the rest is."""
    lines = log.read_text(errors="replace").strip().splitlines()[-15:]
    return "\n".join([f"see {log}.", *lines])
