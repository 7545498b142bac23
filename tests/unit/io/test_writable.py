"""What sinks can write: names and types that a format cannot hold are refused with the query's name."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from weft.errors import RefusedError
from weft.io.formats import find_member
from weft.io.sinks import SINKS
from weft.io.writable import refuse_unwritable
from weft.model.query import Output

STRUCT = {"type": "struct", "fields": [{"name": "start", "type": "timestamp"}, {"name": "end", "type": "timestamp"}]}
TWINS = {"type": "struct", "fields": [{"name": "a", "type": "long"}, {"name": "A", "type": "long"}]}
WELL = {"s": "long", "d": "decimal(38,10)", "i": "interval day to second", "b": "binary", "t": "timestamp_ntz"}


def check(format, columns, sensitive=False):
    outputs = tuple(Output("", name, json.dumps(kind)) for name, kind in columns)
    query, facts = SimpleNamespace(name="q", outputs=outputs), find_member(format, SINKS).facts
    refuse_unwritable(query, facts, "__weft_query", sensitive)


@pytest.mark.parametrize("format", ["parquet", "orc", "csv", "json", "kafka", "memory", "noop", "console"])
def test_plain_columns_are_written_everywhere(format):
    check(format, WELL.items())


@pytest.mark.parametrize(("format", "column", "kind", "said"), [
    ("csv", "window", STRUCT, "csv cannot hold column 'window', whose type is or holds struct. Write its fields"),
    ("csv", "l", {"type": "array", "elementType": "long"}, "holds array"),
    ("csv", "m", {"type": "map", "keyType": "string", "valueType": "long"}, "holds map"),
    ("csv", "v", "variant", "holds variant"),
    ("orc", "n", {"type": "array", "elementType": "void"}, "orc cannot hold column 'n', whose type is or holds void"),
    ("orc", "g", "geography(OGC:CRS84, SPHERICAL)", "holds geography. Choose parquet"),
    ("parquet", "i", "interval", "holds interval. Cast it to INTERVAL DAY TO SECOND"),
    ("json", "i", {"type": "udt", "sqlType": "interval"}, "holds interval"),
    ("orc", "a`b", "long", "orc does not keep the column name 'a`b'"),
    ("csv", "a\nb", "long", "csv does not keep the column name"),
    ("parquet", "__WEFT_query", "long", "is Weft's own"),
    ("parquet", "s", TWINS, "parquet cannot hold two columns named 'a'"),
])
def test_what_a_format_cannot_hold_is_refused(format, column, kind, said):
    with pytest.raises(RefusedError, match=r"^query 'q': ") as found:
        check(format, [("k", "string"), (column, kind)])
    assert said in str(found.value)


@pytest.mark.parametrize("format", ["parquet", "orc", "json", "kafka"])
def test_two_columns_of_one_name(format):
    with pytest.raises(RefusedError, match="two columns named 'sum'"):
        check(format, [("sum", "long"), ("Sum", "long")])
    check(format, [("sum", "long"), ("Sum", "long")], sensitive=True)
    with pytest.raises(RefusedError, match=r"Give one of them another alias\.$"):
        check(format, [("sum", "long"), ("sum", "long")], sensitive=True)


def test_csv_has_no_need_of_names():
    check("csv", [("sum", "long"), ("sum", "long")])
