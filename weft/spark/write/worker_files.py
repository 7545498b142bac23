"""Parquet files that workers write themselves, as Spark's own writer would with the settings of the session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from pyarrow import fs
from pyspark.sql import Row, SparkSession

from weft.final.outputs.files import FileFormat, write_empty_file
from weft.io.files import list_entries, path_exists
from weft.io.formats import is_remote
from weft.io.sinks import FolderSink
from weft.model.stages import AnswerStage
from weft.spark.batch.run import QUERY
from weft.spark.session.workers import is_local
from weft.spark.write.worker_jobs import WorkerJob, output_struct

# What both Spark and Arrow call by these names.
CODECS = ("snappy", "gzip", "zstd", "none")
INT96, MICROS = "INT96", "TIMESTAMP_MICROS"
SETTINGS = "spark.sql.parquet."
UTC, LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")
PLAIN = (pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(),
         pa.binary(), pa.date32())


class HeldTypes:
    """The column types that workers write as Spark does."""

    def __init__(self, times: Sequence[pa.DataType]):
        self.times = tuple(times)

    def __contains__(self, kind: pa.DataType) -> bool:
        if pa.types.is_struct(kind):
            return all(field.type in self for field in kind)
        return kind in PLAIN or kind in self.times or pa.types.is_decimal128(kind)


def held_types(spark: SparkSession, sink: FolderSink) -> HeldTypes | None:
    """Which columns workers may write to a folder; None where only Spark may.

    Workers write where the driver looks: in a local session on this machine. Elsewhere Spark's committer knows how.
    """
    if sink.format != "parquet" or is_remote(sink.path) or not is_local(spark) or codec(spark) not in CODECS:
        return None
    if spark.conf.get(f"{SETTINGS}writeLegacyFormat", "false") == "true":
        return None
    # Spark writes local timestamps as INT64 whatever it makes of others, and Arrow does not.
    return {INT96: HeldTypes([UTC]), MICROS: HeldTypes([UTC, LOCAL])}.get(times_written(spark), HeldTypes([]))


def codec(spark: SparkSession) -> str:
    """How the session compresses Parquet files."""
    found = str(spark.conf.get(f"{SETTINGS}compression.codec", "snappy")).lower()
    return "none" if found == "uncompressed" else found


def times_written(spark: SparkSession) -> str:
    """How the session writes timestamps."""
    return str(spark.conf.get(f"{SETTINGS}outputTimestampType", INT96)).upper()


def file_format(spark: SparkSession, folder: str, stages: Iterable[AnswerStage]) -> FileFormat:
    """How workers write the queries of some answer stages below a folder."""
    plain = folder.replace("{", "{{").replace("}", "}}")  # the name of a query is filled in
    return FileFormat(f"{plain}/{QUERY}={{}}", codec(spark), times_written(spark) == INT96,
                      tuple((asked.name, told) for stage in stages for told in (footer(spark, stage),)
                            for asked in stage.queries))


def footer(spark: SparkSession, stage: AnswerStage) -> tuple[tuple[bytes, bytes], ...]:
    """What Spark writes into a file's footer: its version, by which it knows the calendar, and the columns' types."""
    return ((b"org.apache.spark.version", spark.version.encode()),
            (b"org.apache.spark.sql.parquet.row.metadata", output_struct(stage).json().encode()))


def settle_files(files: fs.FileSystem, format: FileFormat, job: WorkerJob, rows: Sequence[Row],
                 failed: Sequence[str]) -> None:
    """Leave of a job's files those that its partitions report: none of an attempt that failed, nor of a projection that
    Spark has to make; a query without rows gets a file that holds its columns."""
    kept = {row["file"] for row in rows}
    for id, queries in job.queries_by_id.items():
        for query in queries:
            folder = format.folder.format(query)
            for info in list_entries(files, folder) if path_exists(files, folder) else ():
                if info.path not in kept or id in failed:
                    files.delete_file(info.path)
            if id in failed and path_exists(files, folder):
                files.delete_dir(folder)
            elif id not in failed and not any(row["query"] == query and row["file"] for row in rows):
                write_empty_file(format, query, job.schemas[query])
