"""scripts/java.sh: finds Java 17+, installs it where it may, else says what to install."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "java.sh"
JAVA = "echo 'openjdk version \"{}\"' >&2"


@pytest.fixture
def bin(tmp_path: Path) -> Path:
    """A PATH that holds only what the script itself needs."""
    for tool in ("sed", "head", "chmod", "cat"):
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    add(tmp_path, "id", "echo 1000")
    return tmp_path


def add(folder: Path, name: str, body: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


def run(folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["/bin/sh", SCRIPT], env={"PATH": str(folder), **env}, capture_output=True, text=True)


def test_a_java_on_path_is_found(bin: Path) -> None:
    add(bin, "java", JAVA.format("17.0.1"))
    assert (run(bin).returncode, run(bin).stdout) == (0, "")


@pytest.mark.parametrize("version", [None, "1.8.0_402", "11.0.2"])
def test_without_a_java_one_sentence_says_what_to_install(bin: Path, version: str | None) -> None:
    if version:
        add(bin, "java", JAVA.format(version))
    done = run(bin)
    assert done.returncode == 1
    assert done.stderr.startswith("Weft needs Java 17 or newer") and len(done.stderr.splitlines()) == 1


def test_root_with_apt_installs_one(bin: Path) -> None:
    add(bin, "id", "echo 0")
    add(bin, "java.new", JAVA.format("17.0.1"))
    # This apt-get knows only Debian's default package, as a release without OpenJDK 17 does.
    add(bin, "apt-get", f'case "$*" in *default-jre*) cat {bin}/java.new > {bin}/java; chmod +x {bin}/java;; '
        "*update*) ;; *) exit 100;; esac")
    done = run(bin)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Installing")


def test_a_wrong_java_home_is_named(bin: Path) -> None:
    add(bin, "java", JAVA.format("17.0.1"))
    done = run(bin, JAVA_HOME="/nowhere")
    assert done.returncode == 1 and done.stderr.startswith("JAVA_HOME has no Java 17")
