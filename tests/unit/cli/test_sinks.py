"""Sinks as the user spells them."""

from __future__ import annotations

import os.path

import pytest

from weft.errors import RunError
from weft.io.sinks import Sink, make_sink, parse_sink

BASE = Sink("orc", "/p/out")


@pytest.mark.parametrize(
    ("text", "sink"),
    [
        ("noop", Sink("noop")),
        ("csv", Sink("csv", "/p/out")),
        ("JSON:x/y", Sink("json", os.path.abspath("x/y"))),
        ("parquet:s3a://b/c", Sink("parquet", "s3a://b/c")),
        ("elsewhere", Sink("orc", os.path.abspath("elsewhere"))),
        ("s3a://b/c", Sink("orc", "s3a://b/c")),
        ("json://b/c", Sink("orc", "json://b/c")),
    ],
)
def test_a_sink_is_read(text: str, sink: Sink) -> None:
    assert parse_sink(text, BASE) == sink


def test_a_path_over_a_noop_project_is_parquet() -> None:
    assert parse_sink("x", Sink("noop")) == Sink("parquet", os.path.abspath("x"))


@pytest.mark.parametrize(("text", "said"), [("csv", "needs a folder: write csv:PATH"), ("json:", "needs a folder")])
def test_a_sink_without_a_folder_is_refused(text: str, said: str) -> None:
    with pytest.raises(RunError, match=said):
        parse_sink(text, Sink("noop"))


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(RunError, match="unknown format 'xls'"):
        make_sink("xls", "out")
