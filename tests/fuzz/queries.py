"""Random queries: windows in every spelling, keys, groupings, WHERE and HAVING."""

from __future__ import annotations

import random

from tests.fuzz.case import Item, Key, Query, Window
from tests.fuzz.expressions import Drawer

KEYS = ("‹k›", "‹g›", "‹k›", "‹g›", "upper(‹k›)", "‹g› % 3", "‹h›", "‹m›", "‹b›", "‹day›", "‹addr›", "‹addr.city›",
        "‹tags›", "coalesce(‹k›, 'none')", "date_trunc('DAY', ‹at›)", "CASE WHEN ‹x› > 4000 THEN 'high' ELSE 'low' END",
        "‹bin›", "‹g› + 1", "‹addr.zip›", "‹s›", "CAST(‹m› AS STRING)", "‹at›")
PLAIN_KEYS = ("‹k›", "‹g›", "‹b›", "‹h›", "‹m›", "‹addr.city›", "‹s›")
# Names of outputs: plain ones, columns' own, and those that Weft uses itself.
ALIASES = ("o", "result", "a b", "ü", "x.y", "tick`s", "w", "q", "o0", "slice", "k0", "p0", "c0_value", "__weft_query",
           "__weft_x", "end", "start", "select", "window", "range", "value", "SAME", "same", "g", "x", "k", "first")
SIZES = ((1000, 1000), (7000, 7000), (60_000, 60_000), (600_000, 600_000), (10_000, 1000), (11_000, 7000),
         (10_000, 3000), (1000, 250), (2500, 700), (600_000, 120_000), (600_000, 180_000), (3_600_000, 420_000),
         (86_400_000, 86_400_000), (90_000_000, 21_600_000), (604_800_000, 86_400_000), (5_400_000, 2_400_000),
         (3000, 1000), (5000, 1000), (77_000, 11_000))
ROWS = ((3, 1), (7, 3), (5, 5), (60, 4), (1, 1), (10, 2))
TIMES = ("‹ts›",) * 8 + ("‹nt›", "‹ts› + INTERVAL '1' HOUR", "‹day›", "CAST(‹ts› AS STRING)")


def draw_window(rng: random.Random, spellings: tuple[str, ...], span: int) -> Window:
    """A window whose size has to do with the time that a table covers."""
    spelling = rng.choice(spellings)
    if spelling == "rows":
        return Window("rows", *rng.choice(ROWS))
    near = [pair for pair in SIZES if pair[1] <= max(span, 1) * 2000] or [SIZES[0]]
    size, slide = rng.choice(near)
    if spelling == "tumble":
        return Window("tumble", size, size, time="‹ts›")
    start = rng.choice((0, 0, 0, 100, slide // 2)) if spelling in ("spark", "hop") else 0
    if spelling == "spark" and rng.random() < 0.15:
        start = -200
    time = rng.choice(TIMES) if spelling == "spark" else "‹ts›"
    return Window(spelling, size, slide, start if start < slide else 0, time)


def draw_query(structure: int, literals: int, windows: list[Window], keys: tuple[str, ...] = KEYS,
               drawing: type[Drawer] = Drawer) -> Query:
    """A query of a structure; another number for literals gives another query of the same shape."""
    rng = random.Random(structure)
    drawer = drawing(rng, random.Random(literals))
    window = rng.choice(windows)
    grouping = rng.choice(("plain",) * 4 + ("positions", "aliases") + ("all",) * (window.spelling == "spark"))
    found = draw_keys(rng, keys, grouping)
    items = draw_items(drawer, rng, window)
    if grouping == "all":  # under which Spark knows no aliases of other outputs, the window's among them
        items = tuple(item for item in items if "‹:" not in item.sql and "first_one" not in item.sql)
    where = drawer.condition() if rng.random() < 0.35 else None
    having = draw_having(drawer, rng, items, found) if rng.random() < 0.3 else None
    source = rng.choice(("t", "t", "t", "t AS src", "T")) if window.spelling == "spark" else "t"
    tags = (*drawer.tags, f"window {window.spelling}", f"GROUP BY {grouping}", *(["WHERE"] if where else []),
            *(["HAVING"] if having else []), *(["keys"] if found else ["no keys"]))
    return Query(items, found, window, grouping, where, having, source, tags)


def draw_keys(rng: random.Random, keys: tuple[str, ...], grouping: str) -> tuple[Key, ...]:
    """No key, one or two."""
    chosen = list(dict.fromkeys(rng.choices(keys, k=rng.choice((0, 1, 1, 1, 2)))))
    shown = [grouping != "plain" or rng.random() < 0.85 for _ in chosen]
    alias = [f"key{i}" if grouping == "aliases" or rng.random() < 0.3 else None for i, _ in enumerate(chosen)]
    return tuple(Key(*three) for three in zip(chosen, alias, shown, strict=True))


def draw_items(drawer: Drawer, rng: random.Random, window: Window) -> tuple[Item, ...]:
    """Parts of the window, then outputs."""
    times = rng.choice((("start",), ("end",), ("start", "end"), ("w",), ("w", "start")))
    items = [Item(f"‹:{part}›", f"w{part}") for part in times]
    for number in range(rng.choice((1, 1, 2, 2, 3, 4))):
        value = drawer.output()
        # Without alias Spark names an output as it is spelled, which only its own spelling of windows has a word for.
        bare = rng.random() < 0.12 and window.spelling == "spark" and "‹:" not in value.sql
        alias = None if bare else draw_alias(rng, number)
        items.append(Item(value.sql, alias, value.loose, value.bag))
    if rng.random() < 0.15:
        items += [Item(drawer.exact("int"), "first_one"), Item("first_one + count(*)", "from_alias")]
        drawer.tags.append("alias reused")
    return tuple(items)


def draw_alias(rng: random.Random, number: int) -> str:
    """The name of an output, one in six of them an awkward one."""
    return rng.choice(ALIASES) if rng.random() < 0.17 else f"a{number}"


def draw_having(drawer: Drawer, rng: random.Random, items: tuple[Item, ...], keys: tuple[Key, ...]) -> str:
    """A condition over aggregates, keys and aliases."""
    named = [item.alias for item in items if item.alias and item.alias.startswith("a") and item.alias[1:].isdigit()]
    options = ["count(*) > 1", drawer.truth(), f"({drawer.truth()}) OR count(*) > 2", f"NOT ({drawer.truth()})"]
    options += [f"{name} IS NOT NULL" for name in named[:1]] + [f"{key.sql} IS NOT NULL" for key in keys[:1]]
    return rng.choice(options)
