"""A new project: a small one that works, made from the template and from trades that are made up here."""

from __future__ import annotations

import json
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from weft.cli.toml import FILE
from weft.errors import ProjectError

DATA = "data/trades"
ROWS, KEYS, HOURS = 20_000, 20, 6
# A package cannot hold a file named .gitignore without it being obeyed, so the template's has no dot.
RENAMED = {"gitignore": ".gitignore"}
# Files that a folder may have already; they are the user's and stay as they are.
KEPT = (".gitignore", "README.md")


def create_project(folder: Path) -> list[str]:
    """Writes the new project and gives the paths it wrote; touches nothing where a project is in the way."""
    contents = template(folder.resolve().name)
    for name in (FILE, DATA, *contents):
        if (folder / name).exists() and name not in KEPT:
            raise ProjectError(f"'{folder / name}' is there already: name a new folder, `weft init DIR`.")
    written = [name for name in contents if not (folder / name).exists()]
    write_data(folder / DATA)
    # weft.toml comes last: a folder without it is no project, so a broken attempt is never taken for one.
    for name in sorted(written, key=lambda item: item == FILE):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(contents[name], encoding="utf-8")
    return sorted([*written, DATA])


def template(name: str) -> dict[str, str]:
    """The template's files by path, with the project's name filled in."""
    root = files("weft.cli") / "template"
    return {path: text.replace('"PROJECT"', json.dumps(name)) for path, text in walk(root)}


def walk(folder: Traversable, prefix: str = "") -> list[tuple[str, str]]:
    """Every file below a folder of the package, by path."""
    found: list[tuple[str, str]] = []
    for item in sorted(folder.iterdir(), key=lambda entry: entry.name):
        path = prefix + RENAMED.get(item.name, item.name)
        found += walk(item, f"{path}/") if item.is_dir() else [(path, item.read_text(encoding="utf-8"))]
    return found


def write_data(folder: Path) -> None:
    """Writes the made-up trades as Parquet, the same each time."""
    from weft.cli.sample_trades import Trades, make

    make(folder, Trades(rows=ROWS, keys=KEYS, hours=HOURS), files=1)
