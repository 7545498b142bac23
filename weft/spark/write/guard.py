"""Guards: what a run or a stream is about to write, looked at before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from os.path import islink

from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession

from weft.catalog.store import Store
from weft.errors import RunError
from weft.io.answer_sink import AnswerSink, SinkFacts
from weft.io.files import list_entries, open_filesystem, read_json, write_json
from weft.io.formats import is_remote
from weft.io.places import WILD, Location, is_at_or_above, location_of, location_of_uri, overlap, reads
from weft.io.row_source import RowSource
from weft.io.sinks import FolderSink
from weft.io.writable import refuse_unwritable
from weft.model.query import Query
from weft.model.workload import BoundQuery
from weft.spark.batch.run import QUERY
from weft.spark.write.owned import require_replaceable
from weft.spark.write.staging import recover

# What a file system takes as one name, and what Spark puts before a query's name while it writes.
LONGEST = 255 - len(f"{QUERY}=")
OWNER = "_weft_stream.json"


@dataclass(frozen=True)
class Input:
    """A source of a run: the path that the user gave, if any, and the files that Spark reads now."""

    name: str
    path: str | None
    files: tuple[Location, ...]

    @cached_property
    def place(self) -> Location:
        """Where the path leads."""
        return location_of(self.path or "")


def list_inputs(workload: Iterable[BoundQuery], origins: Mapping[str, RowSource],
                frames: Mapping[str, DataFrame]) -> list[Input]:
    """What the sources of queries read."""
    names = dict.fromkeys(name for bound in workload for name in bound.query.inputs)
    paths = {name: origins[name].input_path() if name in origins else None for name in names}
    return [Input(name, paths[name], input_files(frames[name])) for name in names]


def input_files(frame: DataFrame) -> tuple[Location, ...]:
    """The files that a source reads now, as far as Spark knows any."""
    return () if frame.isStreaming else tuple(map(location_of_uri, frame.inputFiles()))


def guard_run(spark: SparkSession, sink: AnswerSink, workload: Sequence[BoundQuery], inputs: Sequence[Input],
              store: Store | None) -> None:
    """Raise where a run would replace anything but earlier results of its queries; recover what killed runs left."""
    queries = list_queries(workload)
    require_outputs(spark, sink.facts, queries)
    require_queries(sink, queries, inputs, {"the store": store_folder(store)})
    if not isinstance(sink, FolderSink):
        sink.require_free([query.name for query in queries], None)
        return
    files, root = open_filesystem(sink.path)
    try:
        require_folder(files, root, sink.path)
        recover(files, root)
        for query in queries:
            require_replaceable(files, f"{root}/{query.name}", query.name)
    except OSError as error:
        raise RunError(f"cannot write to '{sink.path}': {error}. Check that the folder is writable.") from error


def guard_changes(folder: str, sink: AnswerSink, inputs: Sequence[Input], store: Store | None) -> None:
    """Raise where changes would lie in a source, the store or the sink, or elsewhere than on this machine."""
    if is_remote(folder):
        raise RunError(f"changes would be written to '{folder}', which is not on this machine: give a local folder.")
    require_apart("changes would be written to", folder, inputs,
                  {"the sink": sink.path if isinstance(sink, FolderSink) else None, "the store": store_folder(store)})


def guard_stream(spark: SparkSession, sink: AnswerSink, workload: Sequence[BoundQuery], inputs: Sequence[Input],
                 checkpoint: str, letters: str, store: Store | None) -> None:
    """Raise where what a stream writes would lie in a source, or two things that it writes in one another."""
    queries = list_queries(workload)
    require_outputs(spark, sink.facts, queries)
    require_apart("the checkpoint would be written to", checkpoint, inputs, {})
    require_apart("dead letters would be written to", letters, inputs, {})
    refuse_letters(checkpoint, letters)
    others = {"the checkpoint": checkpoint, "the dead letters": letters, "the store": store_folder(store)}
    require_queries(sink, queries, inputs, others)


def list_queries(workload: Iterable[BoundQuery]) -> list[Query]:
    """The queries of a workload."""
    return [bound.query for bound in workload]


def require_outputs(spark: SparkSession, facts: SinkFacts, queries: Iterable[Query]) -> None:
    """Raise where a sink cannot hold what a query gives."""
    sensitive = str(spark.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"
    for query in queries:
        refuse_unwritable(query, facts, QUERY, sensitive)


def require_queries(sink: AnswerSink, queries: Sequence[Query], inputs: Sequence[Input],
                    others: Mapping[str, str | None]) -> None:
    """Raise where the folders of queries cannot be side by side, or what a sink says it writes overlaps with what is
    read or written besides."""
    names = [query.name for query in queries]
    if isinstance(sink, FolderSink):
        require_names(names)
    paths = {path: name for name in reversed(names) if (path := sink.output_path(name)) is not None}
    for path, name in paths.items() if not is_apart(sink, inputs, others) else leading_elsewhere(paths):
        require_apart(f"query '{name}' would be written to", path, inputs, others)
    if isinstance(sink, FolderSink):
        refuse_files(sink.path, names, inputs)
    else:
        refuse_read(paths, inputs)


def is_apart(sink: AnswerSink, inputs: Sequence[Input], others: Mapping[str, str | None]) -> bool:
    """Whether a folder of queries overlaps with nothing, so that none of theirs does; of patterns each is asked."""
    if not isinstance(sink, FolderSink) or any(WILD.search(source.path or "") for source in inputs):
        return False
    try:
        require_apart("", sink.path, inputs, others)
    except RunError:
        return False
    return True


def leading_elsewhere(paths: Mapping[str, str]) -> list[tuple[str, str]]:
    """Those of some folders that are links."""
    return [(path, name) for path, name in paths.items() if islink(path)]


def store_folder(store: Store | None) -> str | None:
    """The folder of a store."""
    return str(store.catalog.path.absolute().parent) if store else None


def require_names(names: Iterable[str]) -> None:
    """Raise where names of queries cannot name folders side by side."""
    seen: dict[str, str] = {}
    for name in names:
        if len(name) > LONGEST:
            raise RunError(f"query '{name[:40]}…': its name has {len(name)} letters, and a folder takes {LONGEST}: "
                           "choose a shorter one.")
        if name.lower().startswith("_weft_"):
            raise RunError(f"query '{name}': folders that begin with '_weft_' are Weft's own: choose another name.")
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise RunError(f"queries '{other}' and '{name}' differ in the case of letters only, and would share "
                           "a folder on file systems that do not tell it apart: rename one of them.")


def require_apart(what: str, folder: str, inputs: Iterable[Input], others: Mapping[str, str | None]) -> None:
    """Raise where a folder that is written is, holds or lies in a source or another folder."""
    place = location_of(folder)
    for source in inputs:
        if source.path is not None:
            read = source.place
            if is_at_or_above(place, read) or reads(read, place):
                raise RunError(f"{what} '{folder}', which overlaps source '{source.name}' ('{source.path}'): choose "
                               "another folder.")
    for name, path in others.items():
        if path is not None and overlap(place, location_of(path)):
            raise RunError(f"{what} '{folder}', which overlaps {name} ('{path}'): choose another folder.")


def refuse_files(sink: str, names: Iterable[str], inputs: Iterable[Input]) -> None:
    """Raise where a file that is read lies in a query's folder, whatever links lead there."""
    root, wanted = location_of(sink), set(names)
    for source in inputs:
        for file in source.files:
            below = file.parts[len(root.parts):]
            if is_at_or_above(root, file) and below and below[0] in wanted:
                raise RunError(f"query '{below[0]}' would be written to '{sink.rstrip('/')}/{below[0]}', where source "
                               f"'{source.name}' reads '/{'/'.join(file.parts)}': choose another sink.")


def refuse_read(paths: Mapping[str, str], inputs: Iterable[Input]) -> None:
    """Raise where a file that is read is, or lies in, what would be written, whatever links lead there."""
    for (path, name), source in product(paths.items(), inputs):
        if any(is_at_or_above(location_of(path), file) for file in source.files):
            raise RunError(f"query '{name}' would be written to '{path}', where source '{source.name}' reads: choose "
                           "another sink.")


def refuse_letters(checkpoint: str, letters: str) -> None:
    """Raise where dead letters would lie among what Spark keeps in a checkpoint."""
    page, place = location_of(checkpoint), location_of(letters)
    below = place.parts[len(page.parts):]
    if is_at_or_above(place, page) or (is_at_or_above(page, place) and below[0].startswith("scan-")):
        raise RunError(f"dead letters would be written to '{letters}', among the files of the checkpoint "
                       f"'{checkpoint}': choose another folder.")


def require_folder(files: fs.FileSystem, root: str, path: str) -> None:
    """Raise where a folder cannot be made because it, or what it should lie in, is a file."""
    parts = root.split("/")
    for count in range(len(parts), 1, -1):
        found = files.get_file_info("/".join(parts[:count]))
        if found.type == fs.FileType.File:
            raise RunError(f"cannot write to '{path}': '{found.path}' is a file. Choose another sink.")
        if found.type == fs.FileType.Directory:
            return


def claim_letters(checkpoint: str, letters: str, identity: str, new: bool) -> None:
    """Mark a folder of dead letters as a stream's, or raise where it is another's: their files have the same names."""
    if is_at_or_above(location_of(checkpoint), location_of(letters)):
        return
    files, root = open_filesystem(letters)
    try:
        found = read_json(files, f"{root}/{OWNER}")
        if found is None:
            # Before there were marks a stream wrote here without; only one that goes on may have.
            taken = new and any(info.base_name.startswith("scan-") for info in list_entries(files, root))
            files.create_dir(root, recursive=True)
            found = {"stream": None if taken else identity}
            if not taken:
                write_json(files, f"{root}/{OWNER}", found)
    except (OSError, ValueError) as error:
        raise RunError(f"cannot write dead letters to '{letters}': {error}. Make the folder writable.") from error
    if found.get("stream") != identity:
        raise RunError(f"'{letters}' holds the dead letters of another stream, whose files this one would replace: "
                       "choose another folder.")
