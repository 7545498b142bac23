"""Columns of type CHAR(n), texts in Spark's schemas: it pads what they hold, and also what they are compared with."""

from __future__ import annotations

import re

from pyspark.sql.types import StructField, StructType

from weft.model.query import KEY, Query

DECLARED = "__CHAR_VARCHAR_TYPE_STRING"  # where Spark notes the type that a column was declared with
CHAR = re.compile(r"\bchar\(")  # and not varchar, which is a text like any other


def is_char(field: StructField) -> bool:
    """Whether a column is, or holds, a text of fixed length."""
    return bool(CHAR.search(field.metadata.get(DECLARED, "")) or CHAR.search(field.dataType.simpleString()))


def used_char_key(query: Query, schema: StructType) -> str | None:
    """A key of type CHAR(n) of which a query makes more than a column of its answers, None where there is none: after
    grouping Weft knows texts only, and Spark still pads."""
    names = {field.name.lower() for field in schema.fields if is_char(field)}
    texts = [output.sql for output in query.outputs] + ([query.having] if query.having else [])
    for i, key in enumerate(query.keys):
        if column_of(key) in names and any(uses(text, KEY.format(i)) for text in texts):
            return key
    return None


def column_of(key: str) -> str:
    """The column that a key is, or is a field of."""
    quoted = re.match(r"`((?:[^`]|``)*)`", key)
    name = quoted[1].replace("``", "`") if quoted else re.split(r"[.\[]", key)[0].strip()
    return name.lower()


def uses(text: str, key: str) -> bool:
    """Whether an expression makes something of a key."""
    return text != key and re.search(rf"\b{key}\b", text) is not None
