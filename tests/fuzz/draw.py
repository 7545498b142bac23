"""Cases of a seed: tables, names, settings, queries and ways to run them, always the same ones."""

from __future__ import annotations

import random
from dataclasses import replace

from tests.fuzz.case import Case, Run, Shape
from tests.fuzz.expressions import Drawer, Folded
from tests.fuzz.queries import KEYS, PLAIN_KEYS, draw_query, draw_window
from weft.final.algorithms import ALGORITHMS
from weft.optimize import EVERY_OPTIMIZER

KINDS = ("batch", "sink", "incremental", "stream")
HOSTILE = ("a b", "a.b", "tick`s", "größe", "日本", "slice", "p0", "k0", "window", "end", "__weft_x", "select", "from",
           "w", "q", "first", "starts", "range", "slide", "c0_value", "o0", "e0", "v0", "m0", "slice_end", "value",
           "element", "__weft_query", "count", "Key", "sum", "dash-ed", "per%cent", "1st", "quote'd", 'dq"uoted',
           "bucket", "time", "__weft_time", "case", "null", "true", "interval", "date", "timestamp", "src", "t",
           "paren(s)")
SPELLINGS = ("spark",) * 5 + ("range", "window", "hop", "tumble", "rows")
TIMED = tuple(s for s in SPELLINGS if s != "rows")
# What may be set at run time, by the share of cases in which it is.
SETTINGS: tuple[tuple[float, str, tuple[str, ...]], ...] = (
    (0.35, "spark.sql.ansi.enabled", ("false",)),
    (0.6, "spark.sql.session.timeZone", ("Europe/Berlin", "America/New_York", "Asia/Kolkata")),
    (0.12, "spark.sql.timestampType", ("TIMESTAMP_NTZ",)),
    (0.12, "spark.sql.caseSensitive", ("true",)),
    (0.25, "spark.sql.adaptive.enabled", ("false",)),
    (0.25, "spark.sql.shuffle.partitions", ("1",) * 6 + ("37",)),
    (0.2, "spark.sql.execution.arrow.maxRecordsPerBatch", ("7",)),
    (0.2, "spark.sql.decimalOperations.allowPrecisionLoss", ("false",)),
    (0.94, "spark.sql.codegen.factoryMode", ("NO_CODEGEN",)),
)
# Under which a case runs unless it says otherwise.
USUAL = {"spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "2",
         "spark.sql.timestampType": "TIMESTAMP_LTZ", "spark.sql.caseSensitive": "false",
         "spark.sql.adaptive.enabled": "true", "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
         "spark.sql.decimalOperations.allowPrecisionLoss": "true", "spark.sql.codegen.factoryMode": "FALLBACK",
         "spark.sql.codegen.wholeStage": "true"}


def draw_case(seed: int, number: int, kind: str | None = None) -> Case:
    """The case of a number, of one kind where one is given."""
    rng = random.Random(f"{seed}/{number}")
    kind = kind or rng.choices(KINDS, (12, 3, 2, 2))[0]
    settings = draw_settings(rng)
    if kind == "stream" and rng.random() < 0.8:  # every partition has a worker that keeps its state
        settings["spark.sql.shuffle.partitions"] = "1"
    shape = draw_shape(rng, kind)
    names = draw_names(rng, settings)
    return Case(seed, number, shape, names, settings, tuple(draw_queries(rng, shape, kind)), draw_run(rng, kind))


def draw_settings(rng: random.Random) -> dict[str, str]:
    """What is not as usual in a session."""
    drawn = {name: rng.choice(values) for share, name, values in SETTINGS if rng.random() < share}
    if "spark.sql.codegen.factoryMode" in drawn:
        drawn["spark.sql.codegen.wholeStage"] = "false"
    return drawn


def draw_shape(rng: random.Random, kind: str) -> Shape:
    """From empty to a few hundred rows, seconds to months, before and after 1970; streams have some rows, and none that
    would be dead letters because they are before 1970."""
    rows = rng.choice((40, 120)) if kind == "stream" else rng.choice((0, 1, 2, 7, 40, 120, 120, 300))
    span = rng.choice((10, 40, 300)) if kind == "stream" else rng.choice((1, 10, 300, 7_200, 90_000, 4_000_000))
    early = () if kind == "stream" else (-9_000_000_000, -86_400, -3)
    origin = rng.choice((1_700_000_000,) * 4 + (1_711_846_000, 0, *early))
    return Shape(rows, span, origin, rng.choice((1, 3, 40)), rng.choice((0.0, 0.1, 0.6)), rng.choice((0.0, 0.0, 0.15)),
                 rng.random() < 0.4 and kind != "stream", rng.getrandbits(32))


def draw_names(rng: random.Random, settings: dict[str, str]) -> dict[str, str]:
    """Awkward names for some columns, in some cases; names that differ in case where case counts."""
    names: dict[str, str] = {}
    if rng.random() < 0.35:
        roles = ["ts", "k", "g", "x", "i", "s", "n", "d", "addr", "addr.city", "b", "day", "t"]
        chosen = rng.sample(roles, rng.choice((1, 2, 4)))
        names = dict(zip(chosen, rng.sample(HOSTILE, len(chosen)), strict=True))
    if "spark.sql.caseSensitive" in settings:
        names |= {"t": "X", "s": "K"} if rng.random() < 0.8 else {}
    return names


def draw_queries(rng: random.Random, shape: Shape, kind: str) -> list:
    """Queries that have windows in common, some of which differ in nothing but literals."""
    spellings = TIMED if kind == "incremental" else SPELLINGS
    windows = [draw_window(rng, spellings, shape.span) for _ in range(rng.choice((1, 2, 3)))]
    if kind == "stream":  # whose rows come in the order of their event time
        windows = [replace(window, time="‹ts›") for window in windows]
    keys = rng.choice((KEYS, PLAIN_KEYS, tuple(rng.sample(PLAIN_KEYS, 2))))
    drawing = Folded if rng.random() < (0.5 if kind == "stream" else 0.15) else Drawer
    wanted, found = rng.choice({"batch": (4, 6, 8), "stream": (2, 3)}.get(kind, (3, 4))), []
    while len(found) < wanted:
        structure = rng.getrandbits(40)
        for _ in range(2 if rng.random() < 0.3 else 1):
            found.append(draw_query(structure, rng.getrandbits(40), windows, keys, drawing))
    return found


def draw_run(rng: random.Random, kind: str) -> Run:
    """How the queries are run."""
    optimizer = rng.choice(EVERY_OPTIMIZER).name if rng.random() < 0.4 else EVERY_OPTIMIZER[0].name
    algorithm = rng.choice(ALGORITHMS).card.name if rng.random() < 0.3 and kind != "stream" else None
    format = rng.choice(("parquet", "json", "csv", "orc")) if kind in ("sink", "stream") else "parquet"
    sharing = rng.choice(("", "", "filters", "shards"))
    return Run(kind, format, optimizer, algorithm, rng.choice((1, 2, 3)), rng.random() < 0.4, sharing,
               rng.choice((0, 0, 1, 4)) if kind == "stream" else 0)
