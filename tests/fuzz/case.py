"""A case of the fuzzer as a plain value: a table, a session's settings, queries, and how they are run."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field

from tests.strategies import tables

# In the pieces of a query ‹x› stands for the column of a role and ‹:start› for a field of the window.
PLACE = re.compile("‹(:?)([^›]+)›")
PLAIN = re.compile(r"[A-Za-z]{1,3}[0-9]?|addr|tags|city|key[0-9]|wstart|wend")
WORDS = ("end", "all", "any", "for", "not", "and", "or", "sum", "src")


@dataclass(frozen=True)
class Shape(tables.Shape):
    """What a random table is like; `chosen` are the numbers of the rows that are left of it while a case shrinks."""

    chosen: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Item:
    """An output: `loose` ones are rounded on their way, the lists in a `bag` have no order."""

    sql: str
    alias: str | None = None
    loose: bool = False
    bag: bool = False


@dataclass(frozen=True)
class Key:
    """A group key, shown in SELECT or not."""

    sql: str
    alias: str | None = None
    shown: bool = True


@dataclass(frozen=True)
class Window:
    """A window as it is spelled: by Spark, the papers (`range`, `window`, `rows`) or Flink (`hop`, `tumble`).

    Durations are in milliseconds; a window of rows counts rows.
    """

    spelling: str
    size: int
    slide: int
    start: int = 0
    time: str = "‹ts›"


@dataclass(frozen=True)
class Query:
    """A query in pieces, so that pieces can be left out; `tags` name what was drawn."""

    items: tuple[Item, ...]
    keys: tuple[Key, ...]
    window: Window
    grouping: str = "plain"  # or positions, aliases, all
    where: str | None = None
    having: str | None = None
    source: str = "t"
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """How queries are run: `kind` is batch, sink, incremental or stream.

    `sharing` makes them share all that they may, predicates as filters or as shards, whatever it costs. Of a stream's
    later files each holds so many `late` rows, which nobody may answer.
    """

    kind: str = "batch"
    format: str = "parquet"
    optimizer: str = "cheapest"
    algorithm: str | None = None
    files: int = 1
    restart: bool = False
    sharing: str = ""
    late: int = 0


@dataclass(frozen=True)
class Case:
    """All that decides what is run and compared."""

    seed: int
    number: int
    shape: Shape
    names: dict[str, str]
    settings: dict[str, str]
    queries: tuple[Query, ...]
    run: Run = field(default_factory=Run)

    def to_json(self) -> str:
        """The case as text."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Case:
        """The case that a text holds."""
        page = json.loads(text)
        shape = dict(page["shape"])
        shape["chosen"] = None if shape["chosen"] is None else tuple(shape["chosen"])
        queries = tuple(query_of(one) for one in page["queries"])
        return Case(page["seed"], page["number"], Shape(**shape), page["names"], page["settings"], queries,
                    Run(**page["run"]))


def query_of(page: dict) -> Query:
    """The query that a page of JSON holds."""
    return Query(tuple(Item(**item) for item in page["items"]), tuple(Key(**key) for key in page["keys"]),
                 Window(**page["window"]), page["grouping"], page["where"], page["having"], page["source"],
                 tuple(page["tags"]))


def quoted(name: str) -> str:
    """A column's name as SQL writes it: in backticks, but for short names that are no words of SQL."""
    return name if PLAIN.fullmatch(name) and name.lower() not in WORDS else "`" + name.replace("`", "``") + "`"
