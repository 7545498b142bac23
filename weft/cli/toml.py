"""weft.toml as a checked dictionary: what keys there are, and of which type."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from weft.cli.nearest import did_you_mean
from weft.errors import ProjectError

FILE = "weft.toml"
Shape = Mapping[str, Any]

# A key's type or types, a table's shape, or `EACH` for a table whose keys the user names.
EACH = "*"
SOURCE: Shape = {"path": str, "format": str, "time": str, "options": dict, "watermark": str, "schema": str,
                 "drop": float}
STREAM: Shape = {"checkpoint": str, "sink": str, "trigger": str, "max_clock_skew": str, "dead_letters": str,
                 "drift_tolerance": float, "metrics_port": int, "metrics_host": str}
SERVE: Shape = {"host": str, "port": int, "run": str, "token_file": str, "certificate": str, "key": str}
SHAPE: Shape = {
    "project": {"name": str},
    "spark": dict,
    "sources": {EACH: SOURCE},
    "sink": {"format": str, "path": str},
    "queries": {"files": list, "every": (str, dict), "shed": dict},
    "aggregates": {EACH: str},
    "plan": {"algorithm": (str, dict), "optimizer": str, "max_bag_values": int},
    "run": {"store": str, "changes": str},
    "stream": STREAM,
    "serve": SERVE,
}
KINDS: dict[Any, str] = {str: "a string", dict: "a table", list: "a list", (str, dict): "a string or a table",
                         int: "a whole number", float: "a number such as 0.25"}


def read_toml(file: Path) -> dict[str, Any]:
    """The file's tables, or an error that names the first key that is wrong."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProjectError(f"{FILE} is not TOML: {error}.") from error
    for fault in faults(data, SHAPE, ()):
        raise ProjectError(f"{FILE}: {fault}")
    return data


def faults(value: Mapping[str, Any], shape: Shape, path: tuple[str, ...]) -> Iterator[str]:
    """Every key of a table that does not fit the shape, as a sentence."""
    for key, item in value.items():
        here, wanted = (*path, key), shape.get(key, shape.get(EACH))
        if wanted is None:
            yield f"unknown key '{'.'.join(here)}'. {did_you_mean(key, shape)}"
        elif isinstance(wanted, type | tuple) and not isinstance(item, wanted):
            yield f"'{'.'.join(here)}' must be {KINDS[wanted]}."
        elif isinstance(wanted, Mapping) and not isinstance(item, dict):
            yield f"'{'.'.join(here)}' must be a table: write [{'.'.join(here)}]."
        elif isinstance(wanted, Mapping):
            yield from faults(item, wanted, here)


def flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """A table of settings with dotted keys: TOML reads an unquoted `spark.sql.x` as tables in tables."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value).lower() if isinstance(value, bool) else str(value)
