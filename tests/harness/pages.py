"""The code that pages show, for the tests that run it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]


def blocks(page: Path, language: str) -> list[str]:
    """The blocks of a page in a language."""
    found = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    return [dedent(text) for text in found]


def commands(page: Path) -> Iterator[list[str]]:
    """The words of every command in a page's shell blocks, without what follows #."""
    for block in blocks(page, "sh"):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            while "&&" in words:
                yield words[: words.index("&&")]
                words = words[words.index("&&") + 1 :]
            yield words
