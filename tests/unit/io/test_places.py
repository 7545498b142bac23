"""Places: the same folder under many names."""

from __future__ import annotations

import pytest

from weft.io.places import is_at_or_above, location_of, location_of_uri, overlap, reads

SAME = [
    ("/data/x", "file:/data/x"),
    ("/data/x", "file:///data/x/"),
    ("/data/x", "/data/y/../x"),
    ("s3://bucket/a", "s3a://bucket/a/"),
    ("dbfs:/a/b", "dbfs:///a/b"),
    ("hdfs:///a", "hdfs://name:8020/a"),
    ("abfss://c@account/a", "abfs://c@account/a/."),
    ("/data/*/x", "/data/2024/x"),
    ("/data/{a,b}", "/data/b"),
]
APART = [
    ("/data/x", "/data/xy"),
    ("/data/x", "s3://data/x"),
    ("s3://bucket/a", "s3://other/a"),
    ("/data/*.csv", "/data/out"),
    ("hdfs://one/a", "hdfs://two/a"),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_one_place_under_two_names(a, b):
    assert is_at_or_above(location_of(a), location_of(b)) and is_at_or_above(location_of(b), location_of(a))
    assert overlap(location_of(a), location_of(f"{b.rstrip('/.')}/deeper"))
    assert overlap(location_of(a + "/deeper"), location_of(b))
    assert not is_at_or_above(location_of(a + "/deeper"), location_of(b))


@pytest.mark.parametrize(("a", "b"), APART)
def test_places_that_have_nothing_in_common(a, b):
    assert not overlap(location_of(a), location_of(b)) and not overlap(location_of(b), location_of(a))


def test_links_lead_to_one_place(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    assert location_of(str(tmp_path / "link" / "new")) == location_of(f"file:{tmp_path}/there/new")


def test_a_file_that_spark_lists_has_its_signs_spelled_out():
    assert location_of_uri("file:///a%20b/c%25.csv") == location_of("/a b/c%.csv")


@pytest.mark.parametrize(("below", "read"), [("out/q", True), ("_out/q", False), ("out/.q", False), ("_y=1/q", True)])
def test_hidden_folders_are_not_read(below, read):
    assert reads(location_of("/data"), location_of(f"/data/{below}")) is read
