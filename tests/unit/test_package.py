"""What is installed: its name, its license, and the texts that say how."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# The name `weft` on the package index is another project's, whose code nobody should put on a cluster by our advice.
STRANGER = re.compile(r"install\s+['\"]?weft(?![-\w./])")


def test_the_distribution_has_a_name_of_its_own_and_the_command_is_weft():
    assert PROJECT["project"]["name"] == "weft-spark"
    assert PROJECT["project"]["scripts"] == {"weft": "weft.cli.main:main"}


def test_the_license_and_the_types_are_shipped():
    assert PROJECT["project"]["license"] == "Apache-2.0"
    assert PROJECT["project"]["license-files"] == ["LICENSE"]
    assert (ROOT / "LICENSE").read_text().split()[:4] == ["Apache", "License", "Version", "2.0,"]
    assert "py.typed" in PROJECT["tool"]["setuptools"]["package-data"]["*"] and (ROOT / "weft" / "py.typed").is_file()


def test_no_text_tells_to_install_the_stranger():
    texts = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("weft/**/*.py"), *ROOT.glob("scripts/*")]
    assert STRANGER.search("pip install weft[jit]") and STRANGER.search("pip install 'weft'")
    assert not [path.name for path in texts if STRANGER.search(path.read_text())]
