"""Random tables: every type Weft aggregates, nulls, NaN, infinities, old times, gaps, skewed keys."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
from hypothesis import strategies as st

SCHEMA = (
    "ts timestamp, nt timestamp_ntz, k string, g int, h double, m decimal(10,2), b boolean, t tinyint, i int, "
    "n bigint, f float, x double, z double, d decimal(12,3), w decimal(38,6), s string, day date, at timestamp, "
    "addr struct<city:string,zip:int>, tags array<string>"
)
EPOCH = datetime(1970, 1, 1)
WORDS = ("", "a", "b", "zz", "Zürich", "日本", "a longer text with spaces", "A")


@dataclass(frozen=True)
class Shape:
    """What a random table is like; `seed` gives its values."""

    rows: int
    span: int
    origin: int
    keys: int
    nulls: float
    odd: float
    gap: bool
    seed: int


def shapes() -> st.SearchStrategy[Shape]:
    """Shapes from empty to a few hundred rows, seconds to months, before and after 1970."""
    return st.builds(
        Shape,
        rows=st.sampled_from([0, 1, 2, 7, 40, 120, 300]),
        span=st.sampled_from([1, 10, 300, 7_200, 90_000, 4_000_000]),
        origin=st.sampled_from([-9_000_000_000, -86_400, -3, 0, 1_700_000_000]),
        keys=st.sampled_from([1, 3, 40]),
        nulls=st.sampled_from([0.0, 0.1, 0.6]),
        odd=st.sampled_from([0.0, 0.0, 0.15]),
        gap=st.booleans(),
        seed=st.integers(0, 2**32 - 1),
    )


def rows_of(shape: Shape) -> list[tuple]:
    """The rows of a table of that shape, the same ones every time."""
    rng = np.random.default_rng(shape.seed)
    return [row(shape, rng) for _ in range(shape.rows)]


def row(shape: Shape, rng: np.random.Generator) -> tuple:
    """One row in the order of SCHEMA."""
    when = moment(shape, rng)
    values = [
        f"k{skewed(shape, rng)}", skewed(shape, rng), rng.choice([0.0, -0.0, 1.5, float("nan")]).item(),
        Decimal(int(rng.integers(-3, 3))).scaleb(-2), bool(rng.random() < 0.5), int(rng.integers(-128, 128)),
        int(rng.integers(-(2**31), 2**31)), int(rng.integers(-(10**9), 10**9)), real(shape, rng, 10.0),
        real(shape, rng, 1e3), real(shape, rng, 1.0), Decimal(int(rng.integers(-(10**11), 10**11))).scaleb(-3),
        Decimal(int(rng.integers(-(2**62), 2**62)) * 10**10).scaleb(-6), str(rng.choice(WORDS)),
        date(2020, 1, 1) + timedelta(days=int(rng.integers(-20000, 20000))), moment(shape, rng),
        (str(rng.choice(WORDS)), int(rng.integers(0, 3))), [str(rng.choice(WORDS))] * int(rng.integers(0, 3)),
    ]
    gone = rng.random(len(values) + 1) < shape.nulls
    first = None if gone[-1] and rng.random() < 0.2 else when
    return (utc(first), first, *(utc_or(None if g else v) for g, v in zip(gone, values, strict=False)))


def utc(when: datetime | None) -> datetime | None:
    """A time that names its zone, so that Spark reads it as that instant."""
    from datetime import UTC

    return None if when is None else when.replace(tzinfo=UTC)


def utc_or(value: object) -> object:
    """Times with their zone, everything else as it is."""
    return utc(value) if isinstance(value, datetime) else value


def moment(shape: Shape, rng: np.random.Generator) -> datetime:
    """A time within the span, sometimes far away, often on a full second, which is where edges lie."""
    micros = int(rng.integers(0, shape.span * 1_000_000 + 1))
    if rng.random() < 0.4:
        micros -= micros % 1_000_000
    if shape.gap and rng.random() < 0.3:
        micros += 50 * shape.span * 1_000_000
    return EPOCH + timedelta(seconds=shape.origin, microseconds=micros)


def skewed(shape: Shape, rng: np.random.Generator) -> int:
    """A key: half of all rows share one."""
    return 0 if rng.random() < 0.5 else int(rng.integers(0, shape.keys))


def real(shape: Shape, rng: np.random.Generator, scale: float) -> float:
    """A number about a mean, or now and then one that is hard to add."""
    if rng.random() < shape.odd:
        return rng.choice([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, scale * 1e6, scale * 1e-6]).item()
    return float(rng.normal(5 * scale, scale))
