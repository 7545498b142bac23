"""Folders of files as a sink: one folder a query. How they are staged, marked and moved is in spark/write/."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from weft.errors import RunError
from weft.io.answer_sink import AnswerSink, Columns, NamedSink, SinkFacts
from weft.io.formats import absolute, find_member, list_members

# The types that Spark's writer of a format refuses, and a column is found by its name alone in all but CSV.
FORMATS = tuple(
    SinkFacts(name, exactly_once=True, observable=True, needs_path=True, columns=columns, options=options)
    for name, columns, options in (
        ("parquet", Columns(frozenset({"interval"}), unique=True), ()),
        ("csv", Columns(frozenset({"interval", "void", "variant", "geography", "geometry", "struct", "array", "map"}),
                        signs="\n\r"),
         (("header", "true"),)),  # what is written must read back as it was, and a CSV source expects a line of names
        ("json", Columns(frozenset({"interval"}), unique=True), ()),
        ("orc", Columns(frozenset({"interval", "void", "variant", "geography", "geometry"}), unique=True, signs="`"),
         ()),
    ))


@dataclass(frozen=True)
class FolderSink(AnswerSink):
    """A folder of files of one format; a run replaces the folders of its queries, a stream adds to them."""

    format: str
    path: str

    @property
    def facts(self) -> SinkFacts:
        """The facts of the format."""
        found = find_member(self.format, FILES)
        if found is None:
            raise RunError(f"unknown format '{self.format}': write {list_members(FILES)}.")
        return found.facts

    def location(self) -> str:
        """The format and the folder."""
        return f"{self.format} in {self.path}"

    def output_path(self, query: str) -> str:
        """The query's folder."""
        return f"{self.path.rstrip('/')}/{query}"


def open_folder(format: str, said: Mapping[str, str]) -> FolderSink:
    """A folder of files in a format."""
    if not said.get("path"):
        raise RunError(f"the {format} sink needs a folder: write {format}:PATH.")
    return FolderSink(format, absolute(said["path"]))


FILES = tuple(NamedSink(facts, partial(open_folder, facts.name)) for facts in FORMATS)
