"""Random joins: tables whose times lie on a coarse grid, so that bounds are met exactly, and queries that join them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import strategies as st

SCHEMA = "ts timestamp, k string, g int, x double, n bigint"
FIRMS = "k string, sector string"
NAMES = ("a", "b", "c", "d")
START = datetime(2024, 3, 31, tzinfo=UTC)
STEP = 10  # seconds between two times


@dataclass(frozen=True)
class JoinTables:
    """What the tables of a case are like; `seed` gives their values."""

    rows: int
    steps: int
    keys: int
    nulls: float
    seed: int


def join_tables() -> st.SearchStrategy[JoinTables]:
    """From empty tables to some dozens of rows, of one key or of many, most of them of the first."""
    return st.builds(JoinTables, rows=st.sampled_from([0, 1, 12, 40]), steps=st.sampled_from([1, 20, 200]),
                     keys=st.sampled_from([1, 3, 12]), nulls=st.sampled_from([0.0, 0.15]),
                     seed=st.integers(0, 2**32 - 1))


def rows_of(tables: JoinTables, number: int) -> list[tuple]:
    """The rows of one of the tables, in no order of time."""
    rng = np.random.default_rng((tables.seed, number))
    return [row(tables, rng) for _ in range(tables.rows)]


def row(tables: JoinTables, rng: np.random.Generator) -> tuple:
    """One row in the order of SCHEMA."""
    key = min(int(rng.geometric(0.4)) - 1, tables.keys - 1)
    values = [START + timedelta(seconds=STEP * int(rng.integers(0, tables.steps))), f"k{key}", int(rng.integers(0, 4)),
              float(rng.integers(-50, 50)) / 4, int(rng.integers(-9, 9))]
    return tuple(None if rng.random() < tables.nulls else value for value in values)


def firms_of(tables: JoinTables) -> list[tuple]:
    """A row for some of the keys, two for one of them."""
    return [(f"k{i}", f"s{i % 3}") for i in range(0, tables.keys, 2)] + [("k0", "s9")]


@st.composite
def join_queries(draw: st.DrawFn) -> str:
    """A query over two to four streams, maybe the same one twice, maybe with a table."""
    size = draw(st.integers(2, 4))
    sources = [draw(st.sampled_from(NAMES)) for _ in range(size)]
    aliases = [f"t{i}" for i in range(size)]
    timed = draw(st.sampled_from(aliases))
    source = draw(windows(sources, aliases)) if draw(st.integers(0, 3)) == 0 else draw(bounds(sources, aliases))
    table, key = draw(st.sampled_from([("", f"{aliases[0]}.k"), (FIRM.format(aliases[-1]), "f.sector")]))
    tests = draw(st.lists(predicates(aliases), max_size=2))
    keys = draw(st.sampled_from([[key], [key, f"{aliases[-1]}.g"], []]))
    calls = ", ".join(f"{draw(aggregates(aliases))} AS c{i}" for i in range(draw(st.integers(1, 3))))
    first, _, conditions = source.partition(" WHERE ")
    where = " AND ".join([*([conditions] if conditions else []), *tests])
    clause = f" WHERE {where}" if where else ""
    window = draw(st.sampled_from(["'1 minute'", "'5 minutes', '1 minute'", "'7 minutes', '3 minutes'"]))
    return (f"SELECT {', '.join([*keys, 'window.start', calls])} FROM {first}{table}{clause} "
            f"GROUP BY {', '.join([*keys, f'window({timed}.ts, {window})'])}")


FIRM = " JOIN firms f ON f.k = {}.k"


@st.composite
def bounds(draw: st.DrawFn, sources: list[str], aliases: list[str]) -> str:
    """FROM with ON for each stream: an equality with one before it, and bounds on their times."""
    text = f"{sources[0]} {aliases[0]}"
    for i in range(1, len(sources)):
        other, mine = draw(st.sampled_from(aliases[:i])), aliases[i]
        equal = draw(st.sampled_from([f"{other}.k = {mine}.k", f"{mine}.k = {other}.k AND {mine}.g = {other}.g",
                                      f"upper({other}.k) = upper({mine}.k)"]))
        text += f" JOIN {sources[i]} {mine} ON {equal} AND {draw(time_bounds(mine, other))}"
    return text


@st.composite
def time_bounds(draw: st.DrawFn, mine: str, other: str) -> str:
    """Bounds on two times, in one of the ways to write them."""
    before, after = (STEP * draw(st.sampled_from([0, 1, 3, 12])) for _ in range(2))
    return draw(st.sampled_from([
        f"{mine}.ts BETWEEN {other}.ts - INTERVAL '{before}' SECOND AND {other}.ts + INTERVAL {after} SECONDS",
        f"{mine}.ts >= {other}.ts - INTERVAL '{before} seconds' AND "
        f"{other}.ts > {mine}.ts - INTERVAL '{after}.5' SECOND",
        f"{other}.ts <= {mine}.ts + INTERVAL {before} SECOND AND NOT {other}.g = 7 AND "
        f"{mine}.ts <= INTERVAL '{after}' SECOND + {other}.ts",
    ]))


@st.composite
def windows(draw: st.DrawFn, sources: list[str], aliases: list[str]) -> str:
    """FROM with the papers' join windows, and WHERE."""
    spans = [STEP * draw(st.sampled_from([0, 1, 3, 12])) for _ in sources]
    tables = [f"{source} {alias} [RANGE {span} s]" for source, alias, span in zip(sources, aliases, spans, strict=True)]
    return f"{', '.join(tables)} WHERE " + " AND ".join(f"{aliases[0]}.k = {alias}.k" for alias in aliases[1:])


def predicates(aliases: list[str]) -> st.SearchStrategy[str]:
    """Conditions on one stream or on two."""
    first, last = aliases[0], aliases[-1]
    return st.sampled_from([f"{first}.x > 0", f"{last}.g IN (1, 2)", f"{first}.x < {last}.x",
                            f"({first}.g = 1 OR {last}.n > 2)", f"{last}.x IS NOT NULL"])


def aggregates(aliases: list[str]) -> st.SearchStrategy[str]:
    """Calls over columns of one stream or of two."""
    first, last = aliases[0], aliases[-1]
    return st.sampled_from(["count(*)", f"sum({first}.n * {last}.n)", f"avg({last}.x)", f"max({first}.k)",
                            f"min({first}.x - {last}.x)", f"count({last}.g) FILTER (WHERE {first}.x > 1)",
                            f"bool_or({first}.n > {last}.n)", f"stddev({first}.x)"])
