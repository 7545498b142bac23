"""A query over windows that count rows as plain Spark SQL: every row is numbered, then copied into each of its windows.

Spark has no such windows: this text says what they mean, and is what answers are compared with.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.aggregates.times import instant
from weft.model.query import CALL, KEY, WINDOW, Call, Query
from weft.sql.render import SOURCE, quoted

NUMBER, SIZE, END = "__weft_number", "__weft_size", "__weft_end"


def copied_text(query: Query, kind: str, call_text: Callable[[Call], str] = str) -> str:
    """The whole query; `kind` is the type of its time, `call_text` writes a call."""
    time, _ = instant(query.time, kind)
    window = f"named_struct('start', min({time}), 'end', max({time})) AS {WINDOW}"
    keys = [f"{key} AS {KEY.format(i)}" for i, key in enumerate(query.keys)]
    calls = [f"{call_text(call)} AS {CALL.format(i)}" for i, call in enumerate(query.calls)]
    groups = ", ".join((*query.keys, END))
    below = f"SELECT {', '.join((*keys, window, *calls))} FROM ({copies(query, time)}) GROUP BY {groups}"
    outputs = ", ".join(f"{output.sql} AS {quoted(output.name)}" for output in query.outputs)
    return f"SELECT {outputs} FROM ({below})" + (f" WHERE {query.having}" if query.having else "")


def copies(query: Query, time: str) -> str:
    """Every row once for each window that holds it and that is complete, with the number of the window's last row."""
    size, slide = query.window.range, query.window.slide
    first = f"{NUMBER} + pmod(-{NUMBER}, {slide}L)"
    last = f"IF({SIZE} - {NUMBER} < {size}L, {SIZE}, {NUMBER} + {size - 1}L)"
    held = f"SELECT * FROM ({numbers(query, time)}) WHERE {first} <= {last}"
    return f"SELECT *, explode(sequence({first}, {last}, {slide}L)) AS {END} FROM ({held})"


def numbers(query: Query, time: str) -> str:
    """Every row that counts with its number in its group, from 1, and the size of the group."""
    parts = f"PARTITION BY {', '.join(query.keys)}" if query.keys else ""
    order = f"ORDER BY {', '.join((time, *query.order))}"
    number = f"CAST(row_number() OVER ({parts} {order}) AS BIGINT) AS {NUMBER}"
    rows = f"{time} IS NOT NULL" + (f" AND ({query.where})" if query.where else "")
    return f"SELECT *, {number}, count(1) OVER ({parts}) AS {SIZE} FROM {SOURCE} WHERE {rows}"
