"""Files beside Spark: whether they are there, small JSON pages, and folders that move."""

from __future__ import annotations

import json
import os
from os.path import abspath

import pyarrow as pa
from pyarrow import fs

from weft.errors import RunError
from weft.io.formats import is_remote

# Arrow moves no folders on these: objects are copied one by one.
OBJECT_STORES = ("s3", "gcs")


def open_filesystem(path: str) -> tuple[fs.FileSystem, str]:
    """The file system of a path or URI, and the path within it."""
    if not is_remote(path):
        return fs.LocalFileSystem(), abspath(path)
    try:
        # Spark's name of S3 is s3a, Arrow's is s3.
        return fs.FileSystem.from_uri(path.rstrip("/").replace("s3a://", "s3://", 1))
    except (pa.ArrowInvalid, NotImplementedError) as error:
        raise RunError(f"Weft itself writes beside Spark, and cannot reach '{path}': {error}. Give a folder by s3a://, "
                       "abfss://, gs:// or hdfs://, or a path where it is mounted, such as /Volumes/... .") from error


def path_exists(files: fs.FileSystem, path: str) -> bool:
    """Whether there is anything at the path."""
    return files.get_file_info(path).type != fs.FileType.NotFound


def list_entries(files: fs.FileSystem, folder: str) -> list[fs.FileInfo]:
    """What lies directly in a folder; nothing where there is no such folder."""
    return files.get_file_info(fs.FileSelector(folder, allow_not_found=True))


def holds_anything(files: fs.FileSystem, path: str) -> bool:
    """Whether there is a file at the path, or a folder that is not empty."""
    kind = files.get_file_info(path).type
    return kind == fs.FileType.File or (kind == fs.FileType.Directory and bool(list_entries(files, path)))


def read_json(files: fs.FileSystem, path: str) -> dict | None:
    """What a JSON file holds, or None where there is none."""
    try:
        with files.open_input_stream(path) as source:
            return json.loads(source.read())
    except (FileNotFoundError, NotADirectoryError):
        return None


def write_json(files: fs.FileSystem, path: str, value: dict) -> None:
    """Write a JSON file at once: whoever reads it finds all of it or nothing."""
    with files.open_output_stream(f"{path}.partial") as target:
        target.write(json.dumps(value).encode())
    files.move(f"{path}.partial", path)


def write_over(files: fs.FileSystem, path: str, value: bytes) -> None:
    """Write a file that nobody reads yet, over what is there if anything is. Where it is made anew by being cut to
    nothing, ext4 brings it to the disk when it is closed."""
    if files.type_name != "local":
        with files.open_output_stream(path) as target:
            target.write(value)
        return
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666), "wb") as file:
        file.write(value)
        file.truncate()


def move_folder(files: fs.FileSystem, source: str, target: str, first: str, leaving: bool = False) -> None:
    """Move a folder, or its files one by one where folders cannot be moved.

    The file named `first` is then the first to come, or the last to go where the folder is `leaving`: at any moment
    every place that holds some of the files holds it too, or it is where the folder came from.
    """
    if files.type_name not in OBJECT_STORES:
        files.move(source, target)
        return
    found = sorted((f for f in list_entries(files, source)), key=lambda f: (f.base_name == first) == leaving)
    for info in found:
        files.move(info.path, f"{target}/{info.base_name}")
    files.delete_dir(source)
