"""Which plan the workers of a trigger run under: that of the scan's start, or the newest one put in place since then.

Where only windows over columns and cuts that there are change, Spark's own plan stays as it is, and workers take
another one of theirs from a trigger on. A plan is a file whose name has the number of its first trigger. It is there
before that trigger's tasks begin and never changes, so all tasks of a trigger, repeated ones too, find the same. The
files serve one start in one process: a start from the checkpoint is built from its page, which has the newest plan.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from uuid import uuid4

from pyspark import TaskContext
from pyspark.sql import SparkSession

from weft.final.outputs.trigger import TriggerOutputs
from weft.spark.session.package_zip import pickle_function
from weft.spark.session.workers import is_local
from weft.spark.stream.answer_counts import CountTable
from weft.spark.stream.buckets import TRIGGER, BucketCalls, BucketPlan


@dataclass(frozen=True, eq=False)
class WorkerPlan:
    """What workers do in a trigger: with the buckets of each grouping, of their answers, and which of them are called
    though nothing came, and how answers are counted."""

    plans: tuple[BucketPlan, ...]
    outputs: TriggerOutputs = field(default_factory=TriggerOutputs)
    calls: BucketCalls | None = None
    counts: CountTable = field(default_factory=CountTable)

    def due(self) -> tuple[int, ...]:
        """The buckets to call in the task at hand."""
        return self.calls.due() if self.calls else ()


@dataclass(frozen=True, eq=False)
class WorkerPlans:
    """The plan of a scan's start, and the folder that later ones are put in, if workers can read it."""

    first: WorkerPlan
    folder: str | None = None

    def current(self) -> WorkerPlan:
        """The plan of the trigger whose task this is."""
        context = TaskContext.get()
        names = plan_names(self.folder) if context and self.folder else []
        if not context or not names:
            return self.first
        ready = [name for name in names if first_trigger(name) <= trigger_of(context)]
        return load_plan(f"{self.folder}/{max(ready)}") if ready else self.first

    def without_outputs(self) -> WorkerPlans:
        """The same for workers who cut rows: what is made of answers need not be sent to them."""
        return replace(self, first=replace(self.first, outputs=TriggerOutputs(), counts=CountTable()))


def plan_folder(spark: SparkSession) -> str | None:
    """A new name for a folder of plans; None where workers run on other machines, or in another process's charge."""
    return f"{tempfile.gettempdir()}/weft-plans-{uuid4().hex}" if is_local(spark) else None


def plan_names(folder: str) -> list[str]:
    """The files of plans that have been put in place since the start."""
    try:
        return [name for name in os.listdir(folder) if not name.startswith(".")]
    except FileNotFoundError:
        return []


def first_trigger(name: str) -> int:
    """The number of the trigger from which on the plan of a file holds."""
    return int(name.partition("-")[0])


def trigger_of(context: TaskContext) -> int:
    """The number of the trigger that a task is of. Raises where Spark does not say: which of several plans holds cannot
    be known then, and a wrong one would give wrong answers."""
    found = context.getLocalProperty(TRIGGER)
    if not found:
        raise RuntimeError("the stream's queries were changed while it ran, and a task does not know which trigger it "
                           "is of: a sink must compute the answers in the thread that Weft calls it in.")
    return int(found)


@lru_cache(maxsize=4)
def load_plan(path: str) -> WorkerPlan:
    """The plan of a file, read once by each worker."""
    return pickle.loads(Path(path).read_bytes())


@dataclass(frozen=True)
class PreparedPlan:
    """A plan that is written where no worker sees it yet."""

    hidden: Path
    ready: Path
    data: bytes

    def write(self) -> None:
        """Write it where no worker sees it."""
        self.hidden.parent.mkdir(mode=0o700, exist_ok=True)
        self.hidden.write_bytes(self.data)

    def put_in_place(self) -> None:
        """Let workers see it, from its trigger on."""
        self.hidden.rename(self.ready)

    def put_back(self) -> None:
        """Let workers see it again, where somebody has tidied temporary files away."""
        if not self.ready.exists():
            self.write()
            self.put_in_place()


def prepare_plan(folder: str, trigger: int, version: int, plan: WorkerPlan) -> PreparedPlan:
    """Write the plan that holds from a trigger on; a later version for the same trigger goes before."""
    name = f"{trigger:012d}-{version:09d}"
    made = PreparedPlan(Path(folder, f".{name}"), Path(folder, name), pickle_function(plan))
    made.write()
    return made
