"""Sinks of streams: where the answers of a trigger go. Files get each trigger once, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, Protocol

from pyarrow import fs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from weft.errors import RunError
from weft.io.answer_sink import AnswerSink, SinkFacts
from weft.io.files import list_entries, open_filesystem, path_exists, read_json, write_json
from weft.io.folders import hold_if_possible
from weft.io.sinks import FolderSink
from weft.spark.batch.run import QUERY, AnswerPart
from weft.spark.compact.choice import is_compacted_with
from weft.spark.stream.flow import TriggerPart
from weft.spark.stream.outputs import staging_name
from weft.spark.stream.state import ANSWERS, DEAD_PART, PART
from weft.spark.write.answers import PartAnswers, group_by_schema, query_names, union
from weft.spark.write.guard import OWNER, require_folder
from weft.spark.write.owned import mark_stream, require_stream
from weft.spark.write.write import concurrent_writers, file_writer

# Where Spark writes, below the folder that a trigger is staged in.
SPARK = "spark"
# So many triggers a scan may run under one version of a plan.
TRIGGERS = 1_000_000_000


class Delivered(NamedTuple):
    """A trigger's answers when all of them are computed: the parts of which Spark still has to make the rows, and the
    files that workers wrote, each with its query."""

    parts: tuple[TriggerPart, ...]
    files: Sequence[tuple[str, str]] = ()


# Computes the answers of a trigger; called by a sink when it is ready for them.
Make = Callable[[], Delivered]


class StreamSink(Protocol):
    """Takes the answers of one trigger of a scan."""

    facts: SinkFacts

    def __call__(self, parts: tuple[TriggerPart, ...], number: int, make: Make | None = None) -> None:
        """Deliver all parts, or what is left to deliver after `make`; called again with the same number after a crash.
        """


class MemberSink:
    """Gives a sink the answers of each trigger of a scan."""

    def __init__(self, sink: AnswerSink):
        self.sink, self.facts = sink, sink.facts

    def __call__(self, parts: tuple[TriggerPart, ...], number: int, make: Make | None = None) -> None:
        left = make().parts if make else parts
        if left:
            self.sink.write(PartAnswers(group_by_schema(left)), number)


class FileSink:
    """Writes files, one folder a query and files named after the trigger, exactly once: a trigger that is repeated
    after a crash replaces what its first attempt left."""

    def __init__(self, sink: FolderSink, identity: str, scan: str):
        self.sink, self.scan, self.identity, self.facts = sink, scan, identity, sink.facts
        self.files, self.root = open_filesystem(str(sink.path))
        self._tried: int | None = None  # the last trigger that this process has begun to write
        self._complete: frozenset[str] = frozenset()  # the queries whose folders have their marks and schemas

    @property
    def staging(self) -> str:
        """The name of the folder that a trigger is first written to."""
        return staging_name(self.scan)

    def require_free(self, names: Sequence[str]) -> bool:
        """Raise where the sink, or a query's folder in it, is somebody else's; whether the sink is marked as ours."""
        require_folder(self.files, self.root, str(self.sink.path))
        found = read_json(self.files, f"{self.root}/{OWNER}")
        if found is not None and found.get("stream") != self.identity:
            raise RunError(f"'{self.sink.path}' holds the answers of another stream, whose files this one would "
                           "replace: choose another folder, or start from that stream's checkpoint.")
        for name in names:
            require_stream(self.files, f"{self.root}/{name}", name, self.identity, found is not None)
        return found is not None

    def claim(self, names: Sequence[str] = ()) -> None:
        """Mark the sink and the queries' folders as this stream's, or raise where they are another's: its triggers have
        the same numbers."""
        try:
            if not self.require_free(names):
                self.files.create_dir(self.root, recursive=True)
                write_json(self.files, f"{self.root}/{OWNER}", {"stream": self.identity})
            for name in names:
                self.files.create_dir(f"{self.root}/{name}", recursive=True)
                mark_stream(self.files, f"{self.root}/{name}", name, self.identity)
        except OSError as error:
            raise RunError(f"cannot write to '{self.sink.path}': {error}. Make the folder writable.") from error

    def __call__(self, parts: tuple[TriggerPart, ...], number: int, make: Make | None = None) -> None:
        # Who moves the sink away while the stream runs gets a new one, with marks, like the first.
        names = frozenset(query_names(parts))
        anew = not names <= self._complete or not path_exists(self.files, f"{self.root}/{OWNER}")
        self.claim(query_names(parts) if anew else ())
        if self._tried is None or number <= self._tried:
            with self.held():
                self.sweep(query_names(parts), number)
        self._tried = number
        if path_exists(self.files, f"{self.root}/{self.staging}"):
            self.files.delete_dir(f"{self.root}/{self.staging}")
        done = make() if make else Delivered(parts)
        for i, group in enumerate(group_by_schema(done.parts)):
            rows = union(group)
            with concurrent_writers(rows.sparkSession, len(query_names(group)) + 1):
                file_writer(rows, self.sink.format).partitionBy(QUERY).save(self.target(f"{SPARK}/{i}"))
        with self.held():
            self.publish(f"{self.root}/{self.staging}", number, done.files)
        if anew:
            self.show_schemas(group_by_schema(parts))
        self._complete = names

    def held(self) -> AbstractContextManager[None]:
        """Within, nobody compacts: what is put into or taken out of a query's folder is not lost with it."""
        return hold_if_possible(self.root) if self.files.type_name == "local" else nullcontext()

    def target(self, name: str) -> str:
        """Where Spark writes something before it is in place."""
        return f"{str(self.sink.path).rstrip('/')}/{self.staging}/{name}"

    def show_schemas(self, groups: Sequence[list[AnswerPart]]) -> None:
        """Give queries that have no answer yet a file without rows: it holds their columns, where a format has such."""
        for group in groups:
            names = [name for name in query_names(group) if not self.has_files(name)]
            if names:
                schema = StructType([field for field in union(group).schema.fields if field.name != QUERY])
                empty = group[0].slices.sparkSession.createDataFrame([], schema)
                file_writer(empty.coalesce(1), self.sink.format).save(self.target("empty"))
                with self.held():
                    self.copy_schema(f"{self.root}/{self.staging}/empty", names)
                self.files.delete_dir(f"{self.root}/{self.staging}")

    def copy_schema(self, empty: str, names: Sequence[str]) -> None:
        """Copy the file without rows to queries' folders."""
        found = [info for info in list_entries(self.files, empty) if info.base_name.startswith("part-")]
        for name in names:
            for info in found[:1]:
                self.files.copy_file(info.path, f"{self.root}/{name}/schema.{info.base_name.partition('.')[2]}")

    def has_files(self, name: str) -> bool:
        """Whether there are files of a query that others read."""
        return any(not info.base_name.startswith(("_", "."))
                   for info in list_entries(self.files, f"{self.root}/{name}"))

    def sweep(self, names: list[str], number: int) -> None:
        """Remove what an attempt at this trigger may have left before a crash; raise where it was long done."""
        for name in names:
            for info in list_entries(self.files, f"{self.root}/{name}"):
                if is_compacted_with(info.base_name, number):
                    raise RunError(f"trigger {number} would be answered again, and '{info.path}' holds its answers to "
                                   f"query '{name}': the checkpoint is older than its sink. Start with a new "
                                   "checkpoint and a new sink.")
                if info.base_name.startswith(trigger_prefix(number)):
                    self.files.delete_file(info.path)

    def publish(self, staging: str, number: int, made: Sequence[tuple[str, str]] = ()) -> None:
        """Move what was written to its queries' folders: all that Spark's committer left, and of what workers wrote
        those files that they report, for an attempt that failed or was repeated leaves some, too."""
        found = self.files.get_file_info(fs.FileSelector(f"{staging}/{SPARK}", recursive=True, allow_not_found=True))
        written = [(info.path.rsplit("/", 2)[1].removeprefix(f"{QUERY}="), info.path) for info in found
                   if info.type == fs.FileType.File and info.base_name.startswith("part-")]
        for i, (name, path) in enumerate((*written, *made)):
            self.files.create_dir(f"{self.root}/{name}", recursive=True)
            ending = path.rpartition("/")[2].partition(".")[2]
            self.files.move(path, f"{self.root}/{name}/{trigger_prefix(number)}{i:05d}.{ending}")
        if path_exists(self.files, staging):
            self.files.delete_dir(staging)


class DeadLetterSink:
    """Writes dead letters as lines of JSON, each trigger once."""

    def __init__(self, folder: str):
        self.folder = folder
        self.files, self.root = open_filesystem(folder)

    def __call__(self, batch: DataFrame, number: int) -> None:
        dead = batch.where(F.col(PART) == DEAD_PART).select(F.col(ANSWERS).cast("string").alias("value")).toArrow()
        self.write(dead.column(0).to_pylist(), number)

    def write(self, letters: Sequence[str], number: int) -> None:
        """Write the letters of a trigger, if there are any."""
        path = f"{self.root}/{trigger_prefix(number)}.jsonl"
        if letters:
            self.files.create_dir(self.root, recursive=True)
            with self.files.open_output_stream(f"{path}.partial") as target:
                target.write("".join(f"{line}\n" for line in letters).encode())
            self.files.move(f"{path}.partial", path)


def trigger_prefix(number: int) -> str:
    """How the files of a trigger begin."""
    return f"trigger-{number:09d}-"


def number_trigger(version: int, number: int) -> int:
    """The number that sinks know a trigger by, which Spark counts in its scan: above all those of earlier versions of
    the plan, for a query that comes to a scan may have been answered by another one."""
    return (version - 1) * TRIGGERS + number


def make_stream_sink(sink: AnswerSink, identity: str, scan: str) -> StreamSink:
    """What takes the answers of one scan to a sink."""
    if not isinstance(sink, FolderSink):
        return MemberSink(sink)
    made = FileSink(sink, identity, scan)
    made.claim()
    return made


def require_free(sink: AnswerSink, identity: str, names: Sequence[str]) -> None:
    """Raise where a stream of this identity would replace what is not its own, before anything of it is kept."""
    if not isinstance(sink, FolderSink):
        sink.require_free(names, identity)
        return
    try:
        FileSink(sink, identity, "").require_free(names)
    except (OSError, ValueError) as error:
        raise RunError(f"cannot write to '{sink.path}': {error}. Make the folder writable.") from error
