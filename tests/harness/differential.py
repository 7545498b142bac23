"""Comparing all queries of a loom with Spark's own answers in two Spark jobs, whatever their schemas."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from weft.loom import OPTIMIZER, Loom

# Sums in another order differ in their last digits; moments of values that nearly cancel in a few more.
RELATIVE, ABSOLUTE = 1e-9, 1e-12


def differences(loom: Loom, optimizer: str = OPTIMIZER) -> list[str]:
    """A sentence per query whose schema or rows are not Spark's own."""
    with loom.run(optimizer=optimizer) as results:
        ours = {q.name: results[q.name] for q in loom.queries}
        theirs = {q.name: loom.native(q.name) for q in loom.queries}
        kinds = {name: (ours[name].dtypes, theirs[name].dtypes) for name in ours}
        found = [f"{name}: {mine}, Spark's own {its}" for name, (mine, its) in kinds.items() if mine != its]
        mine, natives = collect(ours), collect(theirs)
    for query in loom.queries:
        found += compare(query.name, mine[query.name], natives[query.name])
    return found


def require_equal(loom: Loom, texts: Iterable[str], about: object) -> None:
    """Fail where a query of these texts does not give Spark's own rows, with what it was drawn `about`; the loom is
    closed."""
    try:
        for i, text in enumerate(texts := list(texts)):
            loom.query(f"q{i}", text)
        found = differences(loom)
    finally:
        loom.close()
    assert not found, "\n".join([str(about), *texts, *found])


def collect(frames: dict[str, DataFrame]) -> dict[str, list[list]]:
    """The rows of every frame, in one job."""
    texts = [as_text(name, frame) for name, frame in frames.items()]
    rows: dict[str, list[list]] = {name: [] for name in frames}
    for name, text in reduce(DataFrame.union, texts).collect():
        rows[name].append(flat(json.loads(text)))
    return rows


def as_text(name: str, frame: DataFrame) -> DataFrame:
    """The frame as its name and one JSON text a row."""
    plain = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    options = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd HH:mm:ss.SSSSSS"}
    return plain.select(F.lit(name), F.to_json(F.struct(*plain.columns), options))


def flat(value: object) -> list:
    """A JSON value as the list of its leaves."""
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in flat(inner)]
    if isinstance(value, list):
        return ["[", *(leaf for inner in value for leaf in flat(inner)), "]"]
    return [value]


def compare(name: str, ours: list[list], theirs: list[list]) -> list[str]:
    """Sentences on the first rows that differ between two results, as sets of rows."""
    if len(ours) != len(theirs):
        return [f"{name}: {len(ours)} rows, Spark's own {len(theirs)}"]
    pairs = zip(sorted(ours, key=order), sorted(theirs, key=order), strict=True)
    return [f"{name}: ours {a}, Spark's own {b}" for a, b in pairs if not alike(a, b)][:3]


def order(row: list) -> tuple:
    """A sorting key: exact values first, reals, which may differ in their last digits, last."""
    exact = [repr(v) for v in row if not isinstance(v, float)]
    return exact, [f"{v:.6e}" for v in row if isinstance(v, float)]


def alike(a: Iterable, b: Iterable) -> bool:
    """Whether two rows agree, reals within rounding."""
    return all(x == y or close(x, y) for x, y in zip(a, b, strict=True))


def close(x: object, y: object) -> bool:
    """Whether two numbers agree within rounding."""
    if not (isinstance(x, float) and isinstance(y, float)):
        return False
    return math.isclose(x, y, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
