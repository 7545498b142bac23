"""Fingerprints: all that decides the slices of a partial stage, beside its columns and the rows, as one short text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import sha256

from pyspark.sql import SparkSession

from weft.aggregates.code_digest import own_code
from weft.errors import RunError
from weft.io.sources import Files
from weft.model.graph import Node
from weft.model.stages import PartialStage

FORMAT = 2  # raise it when the same stage comes to give other slices, so that kept ones are made anew
# Settings that change how Spark works and not what it finds. All others count.
HARMLESS = tuple(f"spark.sql.{name}" for name in (
    "adaptive.", "artifact.", "autoBroadcastJoinThreshold", "catalogImplementation", "codegen.", "event",
    "execution.arrow.", "files.maxPartitionBytes", "files.openCostInBytes", "inMemoryColumnarStorage.",
    "maxConcurrentOutputFileWriters", "parquet.compression.", "parquet.datetimeRebaseModeInWrite",
    "parquet.outputTimestampType", "shuffle.", "streaming.", "ui.", "warehouse.dir"))
ALWAYS = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled", "spark.sql.caseSensitive")


def fingerprint(node: Node[PartialStage], files: Files, schema: str, settings: Mapping[str, str]) -> str:
    """The text that two nodes share if their slices differ in nothing but columns."""
    merging = own_merges(node.stage)
    parts = [FORMAT, files.path, files.format, files.options, schema, node.meaning, dict(settings)]
    parts += [merging] if merging else []
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def own_merges(stage: PartialStage) -> list[str | None]:
    """The digests of users' own code that makes one slice of several; all others are what Spark makes of rows. Raises
    where nobody can tell what it does."""
    found = [each for each in stage.components if each.monoid.merge is not None or each.monoid.merges is not None]
    digests = own_code(found)
    if None in digests:
        raise RunError(f"a query of source '{stage.source}' has a monoid of your own that uses what Weft cannot compare"
                       ", and nobody knows whether it is what kept slices were merged by: run without incremental.")
    return digests


def answer_settings(spark: SparkSession) -> dict[str, str]:
    """Spark's version, and the settings by which the same SQL may find something else."""
    found = {row[0]: row[1] for row in spark.sql("SET").collect() if row[0].startswith("spark.sql.")}
    mattering = {name: value for name, value in found.items() if not name.startswith(HARMLESS)}
    return {**mattering, **{name: str(spark.conf.get(name)) for name in ALWAYS}, "version": spark.version}


def refuse_own_functions(stage: PartialStage, own: set[str]) -> None:
    """Raise where slices depend on a function that the user may have changed since they were kept."""
    texts = [stage.time, *stage.keys, *(p for p in stage.predicates if p), *(c.sql for c in stage.columns)]
    called = {name.lower() for text in texts for name in re.findall(r"(\w+)`?\s*\(", text)}
    for name in sorted(called & own):
        raise RunError(f"a query of source '{stage.source}' calls {name}(), a function of your own, and nobody knows "
                       "whether it is what kept slices were made with: run without incremental, or write it in SQL.")


def own_functions(spark: SparkSession) -> set[str]:
    """The functions that are not Spark's, in small letters and without their database."""
    return {row[0].rsplit(".", 1)[-1].strip("`").lower() for row in spark.sql("SHOW USER FUNCTIONS").collect()}
