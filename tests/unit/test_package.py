"""What is installed: its name, its license, and the texts that say how."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

from weft.spark.session.version import OLDEST, show_version

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


def test_pip_leaves_every_pyspark_that_runs_where_it_is():
    """And the project's own tests run on the newest."""
    oldest, after = re.match(r"pyspark>=([\d.]+),<([\d.]+)$", dependency("pyspark")).groups()
    locked = re.search(r"^pyspark==(\d+)\.(\d+)\.", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert oldest == show_version(OLDEST)
    assert after == f"{locked[1]}.{int(locked[2]) + 1}"


def dependency(name: str) -> str:
    """What pip reads of a package that Weft needs."""
    return next(text for text in PROJECT["project"]["dependencies"] if text.startswith(name))


def test_a_version_must_be_named_to_be_tested():
    script = ["sh", str(ROOT / "scripts" / "pyspark_venv.sh")]
    for wrong in ([], ["4.1"], ["newest"]):
        done = subprocess.run([*script, *wrong], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 1 and "make test-pyspark VERSION=4.1.4" in done.stderr
