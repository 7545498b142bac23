"""The next folder of a query: new files of the buckets that were made, and links to those that stay as they are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence

from weft.errors import RunError
from weft.final.outputs.files import FileFormat, write_empty_file
from weft.model.stages import AnswerStage
from weft.spark.refresh.kept_answers import KeptAnswers, folder_facts
from weft.spark.refresh.updates import Update
from weft.spark.write.owned import MARK
from weft.spark.write.spares import Spares, folder_files
from weft.spark.write.worker_jobs import output_schema


def remove_others(folder: str, names: Iterable[str]) -> None:
    """Remove what attempts that failed have left in a folder of new files."""
    for name in set(os.listdir(folder)) - {MARK, *names} if os.path.isdir(folder) else ():
        os.remove(f"{folder}/{name}")


def is_changed(update: Update, new: Sequence[str]) -> bool:
    """Whether a query's folder changes, by the new files there are; else its rows stay just as they are."""
    before = update.before
    replaced = before is not None and len(update.unchanged) < sum(map(len, before.buckets.values()))
    return bool(update.anew or new or replaced)


def link_unchanged(update: Update, place: str, folder: str, spares: Spares) -> None:
    """Put all files of a query that stay as they are into its next folder, beside those that are new; its spare folder
    has most of them already."""
    there = spares.take(update.name, folder)
    os.makedirs(folder, exist_ok=True)
    wanted = folder_files(place) if update.unchanged else {}
    linked = {name for name in update.unchanged if name in there and there[name] == wanted.get(name)}
    for name in there.keys() - linked:
        os.remove(f"{folder}/{name}")
    for name in update.unchanged:
        if name not in linked:
            link_file(f"{place}/{name}", f"{folder}/{name}")


def link_file(path: str, target: str) -> None:
    """A second name for a file, or a copy with its time where the file system has no second names."""
    try:
        os.link(path, target, follow_symlinks=False)
    except FileNotFoundError as error:
        raise gone_error(path) from error
    except OSError:
        shutil.copy2(path, target)


def gone_error(path: str) -> RunError:
    """What is said where a file that stays is removed by somebody else."""
    return RunError(f"'{path}' has gone while its query was brought up to date: run again.")


def describe(update: Update, folder: str, run: str, format: FileFormat, stage: AnswerStage) -> KeptAnswers:
    """What a gathered folder holds; where that is no rows, a file with the columns. Raises where a file that stays is
    not in it any more: somebody may have removed spare folders while this one was taken from among them."""
    gone = sorted({*update.unchanged} - {*result_names(folder)})
    if gone:
        raise gone_error(f"{folder}/{gone[0]}")
    if not result_names(folder):
        write_empty_file(format, update.name, output_schema(stage))
    return update.after(run, folder_facts(folder, result_names(folder)))


def result_names(folder: str) -> list[str]:
    """The files in a folder, without a mark."""
    return sorted(set(os.listdir(folder)) - {MARK})
