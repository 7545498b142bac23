"""The commands that README.md shows: each exists with its options, and those that need no Spark run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tests.harness.pages import ROOT, commands
from weft.cli.main import app

WORDS = list(commands(ROOT / "README.md"))
OURS = [words[1:] for words in WORDS if words[:1] == ["weft"]]
WITHOUT_SPARK = [words for words in OURS if words[0] in ("init", "what-if") or "--groups" in words]


def test_every_command_of_ours_is_read_from_the_file():
    assert {words[0] for words in OURS} >= {"init", "check", "plan", "run", "stream", "verify", "catalog", "what-if"}


@pytest.mark.parametrize("words", OURS, ids=" ".join)
def test_commands_and_their_options_exist(words):
    command = typer.main.get_command(app)
    while words and words[0] in getattr(command, "commands", ()):
        command = command.commands[words[0]]
        words = words[1:]
    command.make_context("weft", list(words), resilient_parsing=False)


@pytest.mark.parametrize("words", WITHOUT_SPARK, ids=" ".join)
def test_what_needs_no_spark_runs(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.stderr
    assert result.stdout


def test_the_targets_of_make_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = {words[1] for words in WORDS if words[:1] == ["make"]}
    text = Path(ROOT / "README.md").read_text()
    assert shown >= {"demo", "test"} and shown | set(re.findall(r"`make ([a-z-]+)", text)) <= targets
