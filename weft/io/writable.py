"""What a sink can write: the columns of a query by name and type, looked at before anything runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from weft.errors import RefusedError
from weft.io.answer_sink import Columns, SinkFacts
from weft.model.query import Output, Query

ADVICE = {"struct": "Write its fields as columns, such as window.start, or choose parquet or json.",
          "array": "Write its elements as columns, or choose parquet or json.",
          "map": "Write its values as columns, or choose parquet or json.",
          "void": "Cast it to a type, such as CAST(NULL AS INT), or choose parquet.",
          "variant": "Cast it to a type, or choose parquet.",
          "interval": "Cast it to INTERVAL DAY TO SECOND or INTERVAL YEAR TO MONTH."}


def refuse_unwritable(query: Query, sink: SinkFacts, own: str, sensitive: bool) -> None:
    """Raise where a query has an output that a sink cannot hold, or one named as Weft's own column."""
    if sink.columns is None:
        return
    refuse_names(query, sink.name, sink.columns, own, sensitive)
    for output in query.outputs:
        for kind in kinds(json.loads(output.type)):
            if kind in sink.columns.types:
                raise RefusedError(query.name, f"{sink.name} cannot hold column '{output.name}', whose type is or "
                                   f"holds {kind}.", hint=ADVICE.get(kind, "Choose parquet."))


def refuse_names(query: Query, format: str, held: Columns, own: str, sensitive: bool) -> None:
    """Raise where the columns of a query cannot be told apart, or come back under other names."""
    names = [output.name for output in query.outputs]
    if any(same(name, sensitive) == same(own, sensitive) for name in names):
        raise RefusedError(query.name, f"the column name '{own}' is Weft's own.", hint="Give it another alias.")
    bad = next((name for name in names for sign in held.signs if sign in name), None)
    if bad is not None:
        raise RefusedError(query.name, f"{format} does not keep the column name {bad!r}.", hint="Give it an alias.")
    twice = next(repeated([names, *nested(query.outputs)], sensitive), None) if held.unique else None
    if twice is not None:
        hint = "Give one of them another alias" + ("." if sensitive else ", which differs in more than its case.")
        raise RefusedError(query.name, f"{format} cannot hold two columns named '{twice}'.", hint=hint)


def same(name: str, sensitive: bool) -> str:
    """What two names share that Spark takes for one."""
    return name if sensitive else name.lower()


def repeated(groups: Iterable[Sequence[str]], sensitive: bool) -> Iterator[str]:
    """The names that come more than once in one of the groups."""
    for names in groups:
        counts = Counter(same(name, sensitive) for name in names)
        yield from (name for name in names if counts[same(name, sensitive)] > 1)


def nested(outputs: Iterable[Output]) -> Iterator[list[str]]:
    """The names of the fields of every struct in the outputs."""
    for output in outputs:
        for kind in walk(json.loads(output.type)):
            if isinstance(kind, dict) and kind["type"] == "struct":
                yield [field["name"] for field in kind["fields"]]


def kinds(kind: str | dict) -> Iterator[str]:
    """The names of a type and of all types in it, without their parameters."""
    for each in walk(kind):
        name = each if isinstance(each, str) else each["type"]
        yield name.partition("(")[0]


def walk(kind: str | dict) -> Iterator[str | dict]:
    """A type as Spark writes it in JSON, and all types in it."""
    yield kind
    if isinstance(kind, dict):
        inner = [kind[key] for key in ("elementType", "keyType", "valueType", "sqlType") if key in kind]
        for each in (*inner, *(field["type"] for field in kind.get("fields", ()))):
            yield from walk(each)
