"""Files as a source: a path and a format become a DataFrame, or an error that says what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from weft.errors import SourceError
from weft.io.formats import absolute, find_member, is_remote, list_members
from weft.io.row_source import NamedSource, RowSource, SourceFacts, Spelling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

# Text carries no types; these options make it give the columns a person expects, times among them.
FORMATS = (
    SourceFacts("parquet", files=True, suffixes=(".parquet", ".pq")),
    SourceFacts("csv", files=True, text=True, suffixes=(".csv", ".csv.gz"),
                options=(("header", "true"), ("inferSchema", "true"))),
    SourceFacts("json", files=True, text=True, options=(("inferTimestamp", "true"),),
                suffixes=(".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz")),
    SourceFacts("orc", files=True, suffixes=(".orc",)),
)

# Spark takes frames over the same paths for equal, and would answer from what is kept of an older listing but for this.
APART = "weft.listing"


@dataclass(frozen=True)
class Files(RowSource):
    """Where the rows of a source lie: a path from the root or a URI, the format, and every option it is read with;
    `declared` says that the user names their columns."""

    path: str
    format: str
    options: tuple[tuple[str, str], ...]
    declared: bool = False

    @property
    def facts(self) -> SourceFacts:
        """The facts of the format."""
        return require_named(self.format)

    def read(self, spark: SparkSession, schema: StructType | None = None) -> DataFrame:
        """The files that are there now as a DataFrame; with a schema Spark need not look into them for it, but puts a
        column that folders name at the end, though the files have it too."""
        reader = spark.read.format(self.format).options(**dict(self.options)).option(APART, uuid4().hex)
        with translate_reading(f"cannot read '{self.path}' as {self.format}"):
            found = (reader if schema is None else reader.schema(schema)).load(self.path)
        if schema is None or found.columns == schema.names or set(found.columns) != set(schema.names):
            return found
        return found.select(*(f"`{name.replace('`', '``')}`" for name in schema.names))

    def stream(self, spark: SparkSession, schema: StructType) -> DataFrame:
        """The files as they come; texts that do not fit the schema are kept whole in a column of their own."""
        from weft.io.arrivals import CORRUPT, with_corrupt

        reader = spark.readStream.format(self.format).options(**dict(self.options))
        if self.facts.text:
            schema = with_corrupt(schema)
            reader = reader.option("columnNameOfCorruptRecord", CORRUPT).option("mode", "PERMISSIVE")
        with translate_reading(f"cannot read '{self.path}' as a stream of {self.format}"):
            return reader.schema(schema).load(self.path)

    def row_number(self) -> tuple[str, ...]:
        """File and row of Parquet; other formats number no rows."""
        return ("_metadata.file_path", "_metadata.row_index") if self.format == "parquet" else ()

    def location(self) -> str:
        """The format and the path."""
        return f"{self.format} at {self.path}"

    def input_path(self) -> str:
        """The path."""
        return self.path


@contextmanager
def translate_reading(what: str) -> Iterator[None]:
    """Within, Spark's errors are a sentence with its reason."""
    from pyspark.errors import PySparkException

    from weft.io.java import Py4JError, spark_reason

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise SourceError(f"{what}: {spark_reason(error)}") from error


def locate_files(path: str | Path, format: str | None = None, options: Mapping[str, str] | None = None,
                 declared: bool = False) -> Files:
    """The files at `path`; the format is named, or told by the suffix."""
    path = str(path)
    require_path(path)
    facts = require_named(format) if format else require_format(path)
    settings = {**dict(facts.options), **{key: str(value) for key, value in (options or {}).items()}}
    return Files(absolute(path), facts.name, tuple(sorted(settings.items())), declared)


def open_files(format: str, spelled: Spelling) -> Files:
    """The files of a spelling, in a format."""
    return locate_files(spelled.place, format, spelled.options, spelled.schema is not None)


def require_path(path: str) -> None:
    """Raises where a local path names nothing."""
    if not path:
        raise SourceError("a source needs a path, and this one is empty.")
    if is_remote(path):
        return
    local = Path(path)
    # A pattern is Spark's to expand, so only the folder before its first wild card can be looked at.
    fixed = Path(*(part for part in local.parts[: first_wild(local)]))
    if not fixed.exists():
        raise SourceError(f"there is nothing at '{path}': give the path of an existing file or folder.")


def first_wild(path: Path) -> int:
    """The place of the first path part with a wild card, or the number of parts."""
    wild = (number for number, part in enumerate(path.parts) if any(sign in part for sign in "*?[{"))
    return next(wild, len(path.parts))


def require_named(name: str) -> SourceFacts:
    """The format of files of that name."""
    found = find_member(name, FILES)
    if found is None:
        raise SourceError(f"unknown format '{name}': write {list_members(FILES)}.")
    return found.facts


def require_format(path: str) -> SourceFacts:
    """The format told by the path's suffix, or by the files in a folder."""
    told = format_by_suffix(path) or format_by_files(Path(path))
    if told is None:
        raise SourceError(f"cannot tell the format of '{path}': name it, {list_members(FILES)}.")
    return told


def format_by_suffix(path: str) -> SourceFacts | None:
    """The format whose suffix ends the path."""
    return next((facts for facts in FORMATS if path.lower().endswith(facts.suffixes)), None)


def format_by_files(folder: Path) -> SourceFacts | None:
    """The one format of the data files in a folder, if they agree."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file()) if folder.is_dir() else ()
    seen = {format_by_suffix(file.name) for file in files if not file.name.startswith(("_", "."))}
    return seen.pop() if len(seen) == 1 else None


FILES = tuple(NamedSource(facts, partial(open_files, facts.name)) for facts in FORMATS)
