"""Sinks of streams: where the answers of a trigger go. Files get each trigger once, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import fs
from pyspark import StorageLevel
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from weft.errors import RunError
from weft.io.files import list_entries, open_filesystem, path_exists, read_json, write_json
from weft.io.folders import hold_if_possible
from weft.io.kafka import KafkaSink
from weft.io.sinks import Sink
from weft.spark.batch.run import QUERY, AnswerPart
from weft.spark.compact.choice import is_compacted_with
from weft.spark.stream.flow import ExpectedPart, TriggerPart
from weft.spark.stream.state import ANSWERS, DEAD_PART, PART
from weft.spark.write.guard import OWNER, require_folder
from weft.spark.write.owned import mark_stream, require_stream
from weft.spark.write.write import concurrent_writers, file_writer, group_by_schema, union, write_noop

# What a user's function gets: the query's name, its new rows, and the number of the trigger.
Receiver = Callable[[str, DataFrame, int], None]


class StreamSink(Protocol):
    """Takes the answers of one trigger of a scan."""

    def __call__(self, parts: tuple[TriggerPart, ...], number: int) -> None:
        """Deliver them; called again with the same number after a crash."""


def deliver(expected: tuple[ExpectedPart, ...], outlet: StreamSink, dead: DeadLetterSink,
            suspect: bool = False) -> Callable[[DataFrame, int], None]:
    """What Spark calls with the answers of each trigger; in a `suspect` source broken records are no surprise."""

    def take(batch: DataFrame, number: int) -> None:
        if isinstance(outlet, CallbackSink | KafkaTopicSink):
            deliver_all(batch, number, expected, outlet, dead)
            return
        with cached_batch(batch, len(expected) > 1 or suspect):
            found = Observation()
            lost = F.expr(f"coalesce(sum(IF({PART} = '{DEAD_PART}', 1, 0)), 0)").alias("dead")
            watched = batch.observe(found, lost)
            outlet(tuple(part.arrived(watched) for part in expected), number)
            if found.get["dead"]:
                dead(batch, number)

    return take


def deliver_all(batch: DataFrame, number: int, expected: tuple[ExpectedPart, ...], outlet: StreamSink,
                dead: DeadLetterSink) -> None:
    """Let a user's function, or Kafka, have the answers. A function may read some of them or none, and what nobody
    reads Spark neither folds nor keeps; so they are held, and the search for dead letters reads them all. Spark's
    writer to Kafka runs a plan of its own, of which an observation hears nothing: who waits for one waits for ever."""
    with cached_batch(batch, True):
        outlet(tuple(part.arrived(batch) for part in expected), number)
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


def discard_answers(parts: tuple[TriggerPart, ...], number: int) -> None:
    """Compute every answer and throw it away."""
    write_noop(list(parts))


class CallbackSink:
    """Hands each query's new rows to a function, in a trigger that has some or not. At least once: a crash in the
    middle of a trigger calls again with the same number."""

    def __init__(self, receiver: Receiver):
        self.receiver = receiver

    def __call__(self, parts: tuple[TriggerPart, ...], number: int) -> None:
        for part in parts:
            for asked in part.stage.queries:
                self.receiver(asked.name, part.only(asked).result(), number)


def print_rows(query: str, rows: DataFrame, number: int) -> None:
    """Print a query's new rows."""
    found = rows.limit(20)
    if found.head(1):
        print(f"{query}, trigger {number}")
        found.show(truncate=False)


class MemorySink:
    """Keeps all answers in the driver, for notebooks and tests; each trigger once."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[int, pa.Table]] = {}

    def __call__(self, parts: tuple[TriggerPart, ...], number: int) -> None:
        for group in group_by_schema(parts):
            table = union(group).toArrow()
            for name in query_names(group):
                mine = table.filter(pc.equal(table.column(QUERY), name)).drop_columns([QUERY])
                self._rows.setdefault(name, {})[number] = mine

    def table(self, name: str) -> pa.Table | None:
        """All rows of a query so far, or None before the first trigger."""
        found = list(self._rows.get(name, {}).values())
        return pa.concat_tables(found) if found else None


class FileSink:
    """Writes files, one folder a query and files named after the trigger, exactly once: a trigger that is repeated
    after a crash replaces what its first attempt left."""

    def __init__(self, sink: Sink, identity: str, scan: str):
        self.sink, self.scan, self.identity = sink, scan, identity
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


class KafkaTopicSink:
    """Writes records to Kafka. At least once: a trigger that is repeated after a crash writes its records again."""

    def __init__(self, sink: KafkaSink):
        self.sink = sink

    def __call__(self, parts: tuple[TriggerPart, ...], number: int) -> None:
        for group in group_by_schema(parts):
            self.sink.write(union(group), QUERY)


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


def query_names(parts: Sequence[AnswerPart]) -> list[str]:
    """The queries that parts answer."""
    return [asked.name for part in parts for asked in part.stage.queries]


def trigger_prefix(number: int) -> str:
    """How the files of a trigger begin."""
    return f"trigger-{number:09d}-"


def make_stream_sink(sink: Sink | KafkaSink | Receiver | MemorySink, identity: str, scan: str) -> StreamSink:
    """The outlet of a sink for one scan."""
    if isinstance(sink, MemorySink):
        return sink
    if isinstance(sink, KafkaSink):
        return KafkaTopicSink(sink)
    if callable(sink):
        return CallbackSink(sink)
    if sink.format == "noop":
        return discard_answers
    if sink.format == "console":
        return CallbackSink(print_rows)
    made = FileSink(sink, identity, scan)
    made.claim()
    return made


def require_free(sink: Sink | KafkaSink | Receiver, identity: str, names: Sequence[str]) -> None:
    """Raise where a stream of this identity cannot write its queries' files, before anything of it is kept."""
    if isinstance(sink, Sink) and sink.path is not None:
        try:
            FileSink(sink, identity, "").require_free(names)
        except (OSError, ValueError) as error:
            raise RunError(f"cannot write to '{sink.path}': {error}. Make the folder writable.") from error
