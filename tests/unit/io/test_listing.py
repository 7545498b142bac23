"""Files that Spark names by URI: looked at on this machine, and refused when they are gone."""

from __future__ import annotations

import pytest

from weft.errors import RunError
from weft.io.listing import listed_files, spellings, to_disk


@pytest.mark.parametrize("name", ["plain", "a b", "100%", "ü=[1]{2}#?", "x,y;z"])
def test_names_come_back_whatever_is_in_them(tmp_path, name):
    (tmp_path / name).write_text("four")
    for uri in spellings((tmp_path / name).as_uri()):
        found = listed_files([uri])[uri]
        assert (found.path, found.size, found.modified) == (uri, 4, (tmp_path / name).stat().st_mtime_ns)


def test_both_spellings_without_a_host_and_one_with():
    assert spellings("file:///a/b") == spellings("file:/a/b") == ("file:/a/b", "file:///a/b")
    assert spellings("s3a://bucket/key") == ("s3a://bucket/key",)


def test_a_file_that_is_gone_is_told(tmp_path):
    with pytest.raises(RunError, match="Run again"):
        listed_files([(tmp_path / "none").as_uri()])


def test_the_size_of_a_folder_is_that_of_its_slices(tmp_path):
    (tmp_path / "a.parquet").write_bytes(bytes(5))
    (tmp_path / "_SUCCESS").write_bytes(bytes(7))
    assert to_disk(tmp_path) == 5
