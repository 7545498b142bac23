"""What a query's folder holds, by its mark: of which slices its rows are, in which buckets of time, in which files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any

from pyarrow import fs

from weft.aggregates.code_digest import own_code
from weft.catalog.slice_caches import SliceCache
from weft.final.outputs.buckets import Bucket
from weft.final.outputs.files import bucket_of_file
from weft.model.graph import digest
from weft.model.stages import AnswerStage, AskedQuery, PartialStage
from weft.spark.incremental.kept_slices import KeptSlices
from weft.spark.write.owned import read_mark

FORMAT = 2  # raise it when the same query comes to give other rows, so that kept ones are made anew
# The rows of a query with more buckets than this are made anew in longer ones: each is a file to look at in every run,
# and to open for readers.
MOST_BUCKETS = 32
UNKNOWN_CODE = "it calls an aggregate of your own, and nobody can tell whether that is the same as before"


@dataclass(frozen=True)
class KeptAnswers:
    """The rows of a query that lie in its folder: what they mean, by which version of its slices, the unit that its
    buckets are counted in, and the size and time of each file. `run` is the run that wrote the folder."""

    run: str
    meaning: str
    epoch: str
    version: int
    unit: int
    files: Mapping[str, tuple[int, int]]

    def to_dict(self) -> dict[str, Any]:
        """What the mark keeps."""
        return {"meaning": self.meaning, "epoch": self.epoch, "version": self.version, "unit": self.unit,
                "files": {name: list(facts) for name, facts in self.files.items()}}

    def is_ahead(self, cache: SliceCache) -> bool:
        """Whether another run, which saw more files than this one, was here meanwhile: its rows stay."""
        return self.epoch == cache.epoch and self.version > cache.version

    @cached_property
    def buckets(self) -> dict[Bucket, list[str]]:
        """The files of each bucket."""
        found: dict[Bucket, list[str]] = {}
        for name in self.files:
            bucket = bucket_of_file(name)
            if bucket is not None:
                found.setdefault(bucket, []).append(name)
        return found


def read_answers(files: fs.FileSystem, folder: str) -> KeptAnswers | None:
    """What a folder holds, None where nobody says."""
    mark = read_mark(files, folder)
    try:
        kept = mark["kept"]
        facts = {name: (int(size), int(modified)) for name, (size, modified) in kept["files"].items()}
        unit = int(kept["unit"] if "unit" in kept else kept["length"])  # older versions had buckets of one length
        return KeptAnswers(str(mark["run"]), str(kept["meaning"]), str(kept["epoch"]), int(kept["version"]), unit,
                           facts)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def why_strange(folder: str, kept: KeptAnswers | None, meaning: str) -> str:
    """Why a folder does not hold what was last written for a query of this meaning; empty where it does."""
    if not os.path.isdir(folder):
        return "there were no rows of it yet"
    if kept is None:
        return "its rows were not written in buckets of time"
    if not meaning:
        return UNKNOWN_CODE
    if kept.meaning != meaning:
        return "its rows are those of another query, plan or setting"
    changed = next((name for name, facts in kept.files.items() if file_facts(f"{folder}/{name}") != facts), None)
    return "" if changed is None else f"'{changed}' in its folder is gone or has changed"


def why_cut_anew(kept: KeptAnswers | None) -> str:
    """Why rows that are as they were written need other buckets; empty where they do not."""
    many = len(kept.buckets) if kept else 0
    return f"it has grown to {many} buckets of time" if many > MOST_BUCKETS else ""


def file_facts(path: str) -> tuple[int, int] | None:
    """The size and time of a file, None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def folder_facts(folder: str, names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """The size and time of files in a folder."""
    found = {name: os.stat(f"{folder}/{name}") for name in names}
    return {name: (facts.st_size, facts.st_mtime_ns) for name, facts in found.items()}


def stage_meaning(slices: KeptSlices, stage: AnswerStage, written: Iterable[Any]) -> str:
    """A digest of all that decides the rows of an answer stage's queries alike: slices, projection, users' own code,
    how it is written. Empty where nobody can tell what users' code does."""
    components = [(c.monoid.name, c.columns, c.type, c.fields, c.parameters) for c in stage.components]
    outputs, own = [astuple(output) for output in stage.outputs], own_code(stage.components)
    if None in own:
        return ""
    meaning = [slices.meaning, stage.calls, components, stage.having, outputs, stage.window, list(written)]
    return digest(FORMAT, *meaning, *([own] if own else []))


def answers_meaning(stage: str, partial: PartialStage, asked: AskedQuery) -> str:
    """A digest of all that decides the rows of a query: its stage's meaning, its window and predicate; empty as that.
    """
    return digest(stage, astuple(asked.window), partial.predicates[asked.predicate]) if stage else ""
