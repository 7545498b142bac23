"""Functions for Python processes without Weft: carried with its sources, or whole modules that need none of it."""

from __future__ import annotations

import ast
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from weft.final import prompt
from weft.final.state.history import levels_for
from weft.io.formats import is_remote
from weft.spark.session import by_value as carry
from weft.spark.session.package_zip import pickle_function, with_package
from weft.spark.stream import processor as shell
from weft.spark.stream import unpack

WITHOUT_WEFT = '''
import pickle, sys
from importlib.util import find_spec
sys.path[:] = [path for path in sys.path if "site-packages" not in path] + [sys.argv[2]]
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in str(finder)]
assert find_spec("weft") is None
function = pickle.load(open(sys.argv[1], "rb"))
print(function.__module__, sys.modules["weft"].__file__)
'''


@pytest.mark.parametrize("module", [carry, shell, unpack, prompt], ids=lambda m: m.__name__)
def test_modules_that_are_sent_whole_import_nothing_of_weft(module):
    tree = ast.parse(Path(module.__file__).read_text())
    named = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    named += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [name for name in named if name.partition(".")[0] == "weft"]


def test_a_carried_function_brings_weft_to_a_process_that_has_none(tmp_path):
    links = tmp_path / "packages"
    links.mkdir()
    for item in Path(sysconfig.get_path("purelib")).iterdir():
        if "weft" not in item.name and item.suffix != ".pth":
            (links / item.name).symlink_to(item)
    (tmp_path / "function").write_bytes(pickle_function(with_package(levels_for)))
    command = [sys.executable, "-I", "-c", WITHOUT_WEFT, str(tmp_path / "function"), str(links)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.stdout.split(), done.stderr) == (["weft.final.state.history", "weft/__init__.py"], "")


def test_a_carried_function_is_itself_where_weft_is():
    assert with_package(is_remote)("s3a://bucket/folder") is True


@pytest.mark.parametrize("path, remote", [("s3a://b/c", True), ("dbfs:/a", True), ("file:/a", True), ("/a/b", False),
                                          ("a/b", False), ("C:/a", False), ("a:b", False)])
def test_what_only_spark_can_look_into(path, remote):
    assert is_remote(path) is remote
