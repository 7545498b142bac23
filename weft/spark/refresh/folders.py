"""The next folder of a query: new files of the buckets that were made, and links to those that stay as they are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence

from pyarrow import fs

from weft.errors import RunError
from weft.final.outputs.files import FileFormat, write_empty_file
from weft.io.files import write_json
from weft.spark.refresh.kept_answers import KeptAnswers, folder_facts
from weft.spark.refresh.updates import Update
from weft.spark.write.owned import MARK, read_mark
from weft.spark.write.worker_jobs import output_schema


def remove_others(folder: str, names: Iterable[str]) -> None:
    """Remove what attempts that failed have left in a folder of new files."""
    for name in set(os.listdir(folder)) - set(names) if os.path.isdir(folder) else ():
        os.remove(f"{folder}/{name}")


def gather_files(update: Update, place: str, folder: str, new: Sequence[str]) -> bool:
    """Put all files of a query that are not new beside those that are; False where its rows stay just as they are."""
    before = update.before
    replaced = before is not None and len(update.unchanged) < sum(map(len, before.buckets.values()))
    if not update.anew and not new and not replaced:
        return False
    os.makedirs(folder, exist_ok=True)
    for name in update.unchanged:
        link_file(f"{place}/{name}", f"{folder}/{name}")
    return True


def link_file(path: str, target: str) -> None:
    """A second name for a file, or a copy with its time where the file system has no second names."""
    try:
        os.link(path, target, follow_symlinks=False)
    except FileNotFoundError as error:
        raise RunError(f"'{path}' has gone while its query was brought up to date: run again.") from error
    except OSError:
        shutil.copy2(path, target)


def hold_columns(update: Update, folder: str, format: FileFormat, stage: object) -> None:
    """See that a folder without rows has a file that holds the columns."""
    if not os.listdir(folder):
        write_empty_file(format, update.name, output_schema(stage))  # type: ignore[arg-type]


def describe(update: Update, folder: str, run: str) -> KeptAnswers:
    """What a gathered folder holds."""
    return update.after(run, folder_facts(folder, sorted(os.listdir(folder))))


def put_down_version(files: fs.FileSystem, update: Update, place: str) -> None:
    """Say in a query's mark that its rows, which stay, are those of the slices as they are now."""
    before, mark = update.before, read_mark(files, place)
    cache = update.slices.cache
    known = before is not None and before.epoch == cache.epoch and before.version >= cache.version
    if before is None or known or mark.get("run") != before.run:
        return
    write_json(files, f"{place}/{MARK}", {**mark, "kept": update.after(before.run, before.files).to_dict()})
