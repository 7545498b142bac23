"""Windows that count rows: `FROM s [ROWS 1000 SLIDE 100]`, and the order in which rows are counted."""

from __future__ import annotations

import re

from weft.model.window import Window, rows_window
from weft.sql.render import quoted
from weft.sql.schema import SourceSchema
from weft.sql.text import Spot, Text

MOST = 10**12  # more rows than a group ever has, and far from where 64 bits end
EXAMPLE = "Write FROM s [ROWS 1000 SLIDE 100]: the last 1000 rows of a group after every 100th."


def counted_window(text: Text, at: Spot, sizes: list[int]) -> Window:
    """The window of a range and a slide (else the range), in rows, or the error that says what is off."""
    for which, size in zip(("range", "slide"), sizes, strict=False):
        if size < 1:
            raise text.refused(at, f"the window's {which} must be at least one row.", EXAMPLE)
        if size > MOST:
            raise text.refused(at, f"the window's {which} must be at most {MOST:,} rows.", EXAMPLE)
    if sizes[-1] > sizes[0]:
        raise text.refused(at, "the window's slide is larger than its range, so some rows would fall in no window.",
                           "Make the slide at most as many rows as the range.")
    return rows_window(sizes[0], sizes[-1])


def row_count(text: Text, at: Spot, word: str) -> int:
    """The number that stands for so many rows."""
    if not re.fullmatch(r"[0-9]+", word):
        raise text.unreadable(at, f"'{word}' is not a whole number of rows.", EXAMPLE)
    return int(word.lstrip("0")[:20] or 0)  # Python reads no number of thousands of digits; 20 are too many rows too


def tie_breakers(schema: SourceSchema) -> tuple[str, ...]:
    """What rows of one time are ordered by: all columns of the source, so that every query counts them alike."""
    return tuple(sortable(quoted(name), kind) for name, kind in schema.columns)


def sortable(column: str, kind: str) -> str:
    """A column as Spark can sort by it, and so that other bytes are another value."""
    if "map<" in kind or "variant" in kind or kind == "interval":
        return f"to_json(named_struct('value', {column}))"
    return f"CAST({column} AS BINARY)" if kind.startswith("string collate") else column
