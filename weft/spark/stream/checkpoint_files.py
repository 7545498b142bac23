"""How Spark writes the files of a checkpoint: on a local disk in a way that starts no processes."""

from __future__ import annotations

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from weft.io.formats import absolute, is_remote
from weft.spark.session.workers import is_local
from weft.spark.stream.checkpoint import PAGE

MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
BY_FILE_SYSTEM = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"


def checkpoint_file_settings(spark: SparkSession, checkpoint: str) -> dict[str, str]:
    """What Spark is set to for a checkpoint that has its page.

    Spark's default asks `readlink` about both names of a file that it renames, in a process each; that takes longer
    than all else that a small trigger does. On a local disk a rename by the other interface replaces a file as surely;
    elsewhere, such as on HDFS, it does not, and who has chosen one has reasons.
    """
    chosen = spark.conf.get(MANAGER, None)
    return {MANAGER: BY_FILE_SYSTEM} if chosen is None and is_on_local_disk(spark, checkpoint) else {}


def is_on_local_disk(spark: SparkSession, checkpoint: str) -> bool:
    """Whether Spark finds the page of a checkpoint on this machine's disk, whatever its default file system is."""
    if is_remote(checkpoint) or not is_local(spark):
        return False
    try:
        found = spark.read.text(f"{absolute(checkpoint)}/{PAGE}").inputFiles()
    except PySparkException:  # a name that Spark takes for a pattern, or a folder that only we see
        return False
    return bool(found) and all(name.startswith("file:") for name in found)
