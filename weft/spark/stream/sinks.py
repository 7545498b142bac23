"""Sinks of streams: where the answers of a trigger go. Files get each trigger once, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

from pyarrow import fs
from pyspark import StorageLevel
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from weft.errors import RunError
from weft.io.answer_sink import AnswerSink, SinkFacts
from weft.io.files import list_entries, open_filesystem, path_exists, read_json, write_json
from weft.io.folders import hold_if_possible
from weft.io.sinks import FolderSink
from weft.spark.batch.run import QUERY, AnswerPart
from weft.spark.compact.choice import is_compacted_with
from weft.spark.stream.flow import ExpectedPart, TriggerPart
from weft.spark.stream.state import ANSWERS, DEAD_PART, PART
from weft.spark.write.answers import PartAnswers, group_by_schema, query_names, union
from weft.spark.write.guard import OWNER, require_folder
from weft.spark.write.owned import mark_stream, require_stream
from weft.spark.write.write import concurrent_writers, file_writer


class StreamSink(Protocol):
    """Takes the answers of one trigger of a scan."""

    facts: SinkFacts

    def __call__(self, parts: tuple[TriggerPart, ...], number: int) -> None:
        """Deliver them; called again with the same number after a crash."""


def deliver(expected: tuple[ExpectedPart, ...], target: StreamSink, dead: DeadLetterSink,
            suspect: bool = False) -> Callable[[DataFrame, int], None]:
    """What Spark calls with the answers of each trigger; in a `suspect` source broken records are no surprise."""

    def take(batch: DataFrame, number: int) -> None:
        if not target.facts.observable:
            deliver_all(batch, number, expected, target, dead)
            return
        with cached_batch(batch, len(expected) > 1 or suspect):
            found = Observation()
            lost = F.expr(f"coalesce(sum(IF({PART} = '{DEAD_PART}', 1, 0)), 0)").alias("dead")
            watched = batch.observe(found, lost)
            target(tuple(part.arrived(watched) for part in expected), number)
            if found.get["dead"]:
                dead(batch, number)

    return take


def deliver_all(batch: DataFrame, number: int, expected: tuple[ExpectedPart, ...], target: StreamSink,
                dead: DeadLetterSink) -> None:
    """Let a sink have the answers that may read some of them or none, or in a plan of which an observation hears
    nothing. What nobody reads Spark neither folds nor keeps; so they are held, and the search for dead letters reads
    them all."""
    with cached_batch(batch, True):
        target(tuple(part.arrived(batch) for part in expected), number)
        dead(batch, number)


@contextmanager
def cached_batch(batch: DataFrame, several: bool) -> Iterator[None]:
    """Keep a trigger's answers while they are read several times: each time they would be folded again."""
    if not several:
        yield
        return
    batch.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield
    finally:
        batch.unpersist()


class MemberSink:
    """Gives a sink the answers of each trigger of a scan."""

    def __init__(self, sink: AnswerSink):
        self.sink, self.facts = sink, sink.facts

    def __call__(self, parts: tuple[TriggerPart, ...], number: int) -> None:
        self.sink.write(PartAnswers(group_by_schema(parts)), number)


class FileSink:
    """Writes files, one folder a query and files named after the trigger, exactly once: a trigger that is repeated
    after a crash replaces what its first attempt left."""

    def __init__(self, sink: FolderSink, identity: str, scan: str):
        self.sink, self.scan, self.identity, self.facts = sink, scan, identity, sink.facts
        self.files, self.root = open_filesystem(str(sink.path))
        self._tried: int | None = None  # the last trigger that this process has begun to write
        self._complete = False  # whether the queries' folders have their marks and schemas

    @property
    def staging(self) -> str:
        """The name of the folder that a trigger is first written to."""
        return f"_weft_staging_{self.scan}"

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

    def __call__(self, parts: tuple[TriggerPart, ...], number: int) -> None:
        # Who moves the sink away while the stream runs gets a new one, with marks, like the first.
        anew = not self._complete or not path_exists(self.files, f"{self.root}/{OWNER}")
        self.claim(query_names(parts) if anew else ())
        if self._tried is None or number <= self._tried:
            with self.held():
                self.sweep(query_names(parts), number)
        self._tried = number
        if path_exists(self.files, f"{self.root}/{self.staging}"):
            self.files.delete_dir(f"{self.root}/{self.staging}")
        groups = group_by_schema(parts)
        for i, group in enumerate(groups):
            rows = union(group)
            with concurrent_writers(rows.sparkSession, len(query_names(group)) + 1):
                file_writer(rows, self.sink.format).partitionBy(QUERY).save(self.target(str(i)))
        with self.held():
            self.publish(f"{self.root}/{self.staging}", number)
        if anew:
            self.show_schemas(groups)
        self._complete = True

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

    def publish(self, staging: str, number: int) -> None:
        """Move what was written to its queries' folders."""
        found = self.files.get_file_info(fs.FileSelector(staging, recursive=True))
        for i, info in enumerate(f for f in found if f.type == fs.FileType.File and f.base_name.startswith("part-")):
            name = info.path.rsplit("/", 2)[1].removeprefix(f"{QUERY}=")
            self.files.create_dir(f"{self.root}/{name}", recursive=True)
            ending = info.base_name.partition(".")[2]
            self.files.move(info.path, f"{self.root}/{name}/{trigger_prefix(number)}{i:05d}.{ending}")
        self.files.delete_dir(staging)


class DeadLetterSink:
    """Writes dead letters as lines of JSON, each trigger once."""

    def __init__(self, folder: str):
        self.folder = folder
        self.files, self.root = open_filesystem(folder)

    def __call__(self, batch: DataFrame, number: int) -> None:
        dead = batch.where(F.col(PART) == DEAD_PART).select(F.col(ANSWERS).cast("string").alias("value")).toArrow()
        path = f"{self.root}/{trigger_prefix(number)}.jsonl"
        if dead.num_rows:
            self.files.create_dir(self.root, recursive=True)
            with self.files.open_output_stream(f"{path}.partial") as target:
                target.write("".join(f"{line}\n" for line in dead.column(0).to_pylist()).encode())
            self.files.move(f"{path}.partial", path)


def trigger_prefix(number: int) -> str:
    """How the files of a trigger begin."""
    return f"trigger-{number:09d}-"


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
