"""A query's text: as it is given to Weft, and as Spark itself reads it."""

from __future__ import annotations

from collections.abc import Mapping

from tests.fuzz.case import PLACE, Key, Query, Window, quoted

UNITS = ((604_800_000, "week", "w", None), (86_400_000, "day", "d", "DAY"), (3_600_000, "hour", "h", "HOUR"),
         (60_000, "minute", "min", "MINUTE"), (1000, "second", "sec", "SECOND"), (1, "millisecond", "ms", None))


def weft_text(query: Query, names: Mapping[str, str]) -> str:
    """The query as Weft is given it."""
    return filled(written(query, query.window.spelling), names, query.window.spelling, aliased(query))


def spark_text(query: Query, names: Mapping[str, str]) -> str:
    """The same query in Spark's own spelling."""
    return filled(written(query, "spark"), names, "spark", aliased(query))


def aliased(query: Query) -> bool:
    """Whether SELECT names the window, so that other outputs read it by that name."""
    return query.window.spelling == "spark" and query.grouping != "plain"


def written(query: Query, spelling: str) -> str:
    """The query with its places still open."""
    flink = spelling in ("hop", "tumble")
    shown = [named(key.sql, key.alias) for key in query.keys if key.shown]
    own = aliased(query)
    window = call(query.window)
    parts = [*shown, *([f"{window} AS wn"] if own else []), *(named(item.sql, item.alias) for item in query.items)]
    source = {"spark": query.source, "hop": flink_source(query), "tumble": flink_source(query)}.get(
        spelling, f"{query.source} {bracket(query.window)}")
    group = grouped(query, spelling, window, flink)
    where = f" WHERE {query.where}" if query.where else ""
    having = f" HAVING {query.having}" if query.having else ""
    return f"SELECT {', '.join(parts)} FROM {source}{where}{group}{having}"


def grouped(query: Query, spelling: str, window: str, flink: bool) -> str:
    """The GROUP BY clause with the window where the spelling has it."""
    if query.grouping == "all":
        return " GROUP BY ALL"
    keys = [reference(query, key, i) for i, key in enumerate(query.keys)]
    if flink:
        keys += ["window_start", "window_end"]
    elif spelling == "spark":
        place = len([key for key in query.keys if key.shown]) + 1
        own = {"positions": str(place), "aliases": "wn"}.get(query.grouping, window)
        keys.append(own if aliased(query) else window)
    return f" GROUP BY {', '.join(keys)}" if keys else ""


def reference(query: Query, key: Key, number: int) -> str:
    """A key in GROUP BY."""
    if query.grouping == "positions" and key.shown:
        return str([other for other in query.keys if other.shown].index(key) + 1)
    return key.alias if query.grouping == "aliases" and key.shown and key.alias else key.sql


def named(sql: str, alias: str | None) -> str:
    """An output with its name."""
    return f"{sql} AS {quoted(alias)}" if alias else sql


def flink_source(query: Query) -> str:
    """The source as Flink's table function."""
    window = query.window
    args = [f"TABLE {query.source}", f"DESCRIPTOR({window.time})"]
    args += [interval(window.slide)] * (window.spelling == "hop") + [interval(window.size)]
    args += [interval(window.start)] if window.start else []
    return f"TABLE({window.spelling.upper()}({', '.join(args)}))"


def interval(ms: int) -> str:
    """A duration as Flink writes it."""
    whole = [(size, name) for size, *_, name in UNITS[1:-1] if ms % size == 0]
    unit, name = whole[0] if whole else (1000, "SECOND")
    return f"INTERVAL '{ms / unit:g}' {name}"


def bracket(window: Window) -> str:
    """The window as the papers write it."""
    if window.spelling == "rows":
        return f"[ROWS {window.size}" + (f" SLIDE {window.slide}]" if window.slide != window.size else "]")
    slide = f" SLIDE {short(window.slide)}" if window.slide != window.size else ""
    return f"[{window.spelling.upper()} {short(window.size)}{slide}]"


def short(ms: int) -> str:
    """A duration as the papers write it."""
    size, name = next((size, name) for size, _, name, _ in UNITS if ms % size == 0)
    return f"{ms // size} {name}"


def call(window: Window) -> str:
    """The window as Spark's function."""
    durations = [long(window.size)]
    durations += [long(window.slide)] if window.slide != window.size or window.start else []
    durations += [long(window.start)] if window.start else []
    return f"window({window.time}, {', '.join(durations)})"


def long(ms: int) -> str:
    """A duration as Spark writes it."""
    size, name = next((size, name) for size, name, *_ in UNITS if ms % size == 0)
    return f"'{ms // size} {name}{'' if ms // size == 1 else 's'}'"


def filled(text: str, names: Mapping[str, str], spelling: str, own: bool) -> str:
    """The text with the names of columns and of the window in their places."""
    window = "wn" if own else "window"
    fields = {"w": window, "start": f"{window}.start", "end": f"{window}.end"}
    if spelling in ("hop", "tumble"):
        fields = {"start": "window_start", "end": "window_end",
                  "w": "named_struct('start', window_start, 'end', window_end)"}

    def fill(place: object) -> str:
        mark, name = place[1], place[2]  # type: ignore[index]
        return fields[name] if mark else column(name, names)

    return PLACE.sub(fill, text)  # type: ignore[arg-type]


def column(role: str, names: Mapping[str, str]) -> str:
    """The column of a role, or a field of it, as SQL."""
    head, _, rest = role.partition(".")
    return quoted(names.get(head, head)) + (f".{quoted(names.get(role, rest))}" if rest else "")

