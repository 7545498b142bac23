"""Spark's type names: as Spark itself spells them, and as Arrow types."""

from __future__ import annotations

import re

import pyarrow as pa

PLAIN: dict[str, pa.DataType] = {
    "boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(),
    "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "binary": pa.binary(), "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"),
}
SYNONYMS = {"bool": "boolean", "byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint",
            "real": "float", "timestamp_ltz": "timestamp"}
DECIMAL = re.compile(r"(?:decimal|dec|numeric)(?:\((\d+)(?:,(\d+))?\))?")
NESTED = re.compile(r"(array|struct)<(.*)>", re.DOTALL)


def spelled(text: str) -> str:
    """The type in Spark's own spelling, or a ValueError that says which part is no type."""
    return spell(arrow_type(text))


def arrow_type(text: str) -> pa.DataType:
    """The Arrow type of a Spark type: a plain name, a decimal, array<...> or struct<name:type,...>."""
    word = re.sub(r"\s*([<>:,()])\s*", r"\1", text.strip())
    low = SYNONYMS.get(word.lower(), word.lower())
    if low in PLAIN:
        return PLAIN[low]
    if found := DECIMAL.fullmatch(low):
        return pa.decimal128(int(found[1] or 10), int(found[2] or 0))
    nested = NESTED.fullmatch(re.sub(r"^\w+", lambda name: name[0].lower(), word))
    if nested and nested[1] == "array":
        return pa.list_(arrow_type(nested[2]))
    if nested:
        return pa.struct([field_of(part) for part in parts(nested[2])])
    raise ValueError(f"'{text}' is no type that Weft knows: write {', '.join(PLAIN)}, decimal(p,s), array<...> or "
                     "struct<name:type,...>")


def field_of(text: str) -> pa.Field:
    """One field of a struct."""
    name, separator, kind = re.sub(r"^(\w+) ", r"\1:", text.strip()).partition(":")
    if not separator or not name.isidentifier():
        raise ValueError(f"'{text}' is no field of a struct: write name:type")
    return pa.field(name, arrow_type(kind))


def parts(text: str) -> list[str]:
    """The text cut at its outermost commas."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return found


def spell(kind: pa.DataType) -> str:
    """An Arrow type of this module as Spark's simpleString."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_list(kind):
        return f"array<{spell(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'{field.name}:{spell(field.type)}' for field in kind)}>"
    return next(name for name, plain in PLAIN.items() if plain == kind)
