"""Where workers find Weft: installed, installed read-only, or in a zip; and that none of them compiles or writes.

One small cluster serves all cases, since starting it takes most of the time. Spark lets a session change the Python of
its workers, so each case is an interpreter of its own: a virtual environment that sees what the tests' environment has,
but Weft only as the case gives it. An audit hook in each of them notes what the very processes that fold are doing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pyspark
import pytest
from typer.testing import CliRunner

import weft
from tests.fixtures.java import CHILD_JAVA
from weft.cli.main import app
from weft.spark.session.package_zip import package_zip

PACKAGE = Path(weft.__file__).parent
MASTER = "local-cluster[2,1,2048]"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.adaptive.enabled": "false",  # else it gives all of so little data to one worker
    "spark.sql.shuffle.partitions": "4",
    "spark.task.maxFailures": "1",
}
CASES = ("installed", "read_only", "zip")

# Notes in $WATCH, by environment: Weft's kernels loaded, a compiler asked for, and writes beside Weft or in HOME.
WATCH = '''
import json, os, sys

LOG, KEPT = os.environ.get("WATCH"), (sys.prefix + os.sep, os.environ.get("HOME", sys.prefix) + os.sep)
WORKER = "pyspark.daemon" in sys.orig_argv

def note(what, which):
    file = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, (json.dumps([os.path.basename(sys.prefix), WORKER, what, which]) + "\\n").encode())
    os.close(file)

def watch(event, args):
    if event == "exec" and getattr(args[0], "co_filename", "").endswith("weft/final/fold/partition.py"):
        note("load", args[0].co_filename)
    elif event == "import" and args[0].partition(".")[0] in ("numba", "llvmlite"):
        note("compiler", args[0])
    elif event == "os.mkdir" or event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        if str(args[0]).startswith(KEPT):
            note("write", str(args[0]))

if LOG:
    sys.addaudithook(watch)
'''

DRIVER = '''
import json, os, sys
from pyspark.errors import PySparkException
import weft
from weft import Loom

pythons, archive = json.loads(sys.argv[1]), sys.argv[2]
loom = Loom()
rows = ("timestamp_seconds(1700000000 + 7 * id) AS ts", "concat('k', id % 5) AS k", "id AS n",
        "IF(id % 11 = 0, NULL, CAST(id * id % 97 AS DOUBLE)) AS v")
loom.source("t", loom.spark.range(400).selectExpr(*rows), time="ts")
for name, window in (("short", "'3 minutes', '1 minute'"), ("long", "'20 minutes', '7 minutes'")):
    calls = "avg(v), max(v), sum(n), count(*), count(v), stddev(v), min_by(concat('n', n), n % 50 + n / 1000)"
    loom.query(name, f"SELECT k, window.start, {calls} FROM t GROUP BY k, window(ts, {window})")

def verified(environment):
    loom.spark.conf.set("spark.sql.execution.pyspark.python", pythons[environment])
    try:
        return loom.verify().to_dict()
    except PySparkException as error:
        return {"ok": False, "error": str(error)}

report = {case: verified(case) for case in ("installed", "read_only", "bare")}
loom.spark.sparkContext.addPyFile(archive)
report["zip"] = verified("bare")
report["master"] = loom.spark.conf.get("spark.master")
report["writable"] = [p for p in (os.path.dirname(weft.__file__), os.path.expanduser("~")) if os.access(p, os.W_OK)]
print(json.dumps(report))
'''


@dataclass(frozen=True)
class Note:
    """One thing that a watched process did."""

    environment: str
    worker: bool
    what: str
    which: str


@dataclass(frozen=True)
class Run:
    """What the driver reports, what was noted, and the read-only files before and after."""

    report: dict
    notes: tuple[Note, ...]
    before: dict
    after: dict

    def noted(self, what: str) -> list[Note]:
        """All notes of one kind."""
        return [note for note in self.notes if note.what == what]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder with the environments, a Spark home of links, and a HOME that cannot be written to."""
    folder = tmp_path_factory.mktemp("workers")
    for name in ("home", "tmp", "spark", "deps", "source"):
        (folder / name).mkdir()
    # A local cluster keeps its work in its Spark home, which may be read-only and is not ours.
    link_all(Path(pyspark.__file__).parent, folder / "spark")
    make_dependencies(folder / "deps")
    for name in ("installed", "read_only", "bare"):
        make_environment(folder / name, folder / "deps")
    install(folder / "source", site(folder / "installed"))
    shutil.copytree(site(folder / "installed") / "weft", site(folder / "read_only") / "weft")
    set_modes(folder, 0o555, 0o444)
    yield folder
    set_modes(folder, 0o755, 0o644)


@pytest.fixture(scope="module")
def run(root: Path) -> Run:
    """One run of the driver through spark-submit, all cases on one cluster."""
    (root / "driver.py").write_text(DRIVER)
    archive = package_zip(root / "zips" / "weft.zip")
    pythons = {name: str(python(root / name)) for name in ("installed", "read_only", "bare")}
    options = [word for key, value in SETTINGS.items() for word in ("--conf", f"{key}={value}")]
    submit = [str(root / "spark/bin/spark-submit"), "--master", MASTER, *options, str(root / "driver.py")]
    before = listing(root / "read_only")
    command = [*modes_bind(), *submit, json.dumps(pythons), archive]
    done = subprocess.run(command, env=environment(root), cwd=root / "tmp", capture_output=True, text=True, timeout=300)
    # Under spark-submit all that the driver prints, errors too, comes to stdout; stderr has Java's log.
    assert done.returncode == 0, done.stdout[-5000:] or done.stderr[-5000:]
    report = json.loads(done.stdout.splitlines()[-1])
    return Run(report, read_notes(root / "watch.log"), before, listing(root / "read_only"))


def link_all(source: Path, target: Path, besides: tuple[str, ...] = ()) -> None:
    """Links to everything in a folder, besides what has such a word in its name."""
    for item in source.iterdir():
        if not any(word in item.name for word in besides):
            (target / item.name).symlink_to(item)


def make_dependencies(folder: Path) -> None:
    """What the tests' environment has but Weft, in whatever way that is installed; and the watch."""
    for source in {Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib")}:
        link_all(source, folder, besides=("weft", ".pth", "__pycache__"))
    (folder / "watch.py").write_text(WATCH)


def make_environment(folder: Path, dependencies: Path) -> None:
    """A virtual environment that has the dependencies and starts to watch when it starts."""
    venv.create(folder, symlinks=True)
    (site(folder) / "dependencies.pth").write_text(f"{dependencies}\nimport watch\n")


def site(folder: Path) -> Path:
    """The site-packages of a virtual environment."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))


def python(folder: Path) -> Path:
    """The interpreter of a virtual environment."""
    return folder / "bin" / "python"


def install(scratch: Path, target: Path) -> None:
    """Installs Weft with pip, bytecode and all, from a copy: building leaves files in the source."""
    shutil.copytree(PACKAGE, scratch / "weft", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(PACKAGE.parent / name, scratch)
    # `--ignore-installed`, or pip would remove the Weft of the tests' own environment.
    options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--ignore-installed", "--target")
    command = [sys.executable, "-m", "pip", "--isolated", "install", *options, str(target), str(scratch)]
    subprocess.run(command, check=True, capture_output=True, text=True, env=plain_environment())


def set_modes(root: Path, folders: int, files: int) -> None:
    """Sets the modes of HOME and of the read-only environment's Weft."""
    for top in (root / "home", site(root / "read_only") / "weft"):
        for folder, _, names in os.walk(top):
            for name in names:
                Path(folder, name).chmod(files)
            Path(folder).chmod(folders)


def modes_bind() -> list[str]:
    """The command before which modes mean something to root too; nothing where there is none, or no root."""
    command = ["setpriv", "--bounding-set", "-dac_override"]
    if os.geteuid() != 0 or not shutil.which(command[0]):
        return []
    return command if subprocess.run([*command, "true"], capture_output=True).returncode == 0 else []


def plain_environment() -> dict[str, str]:
    """The few variables that a fresh login has: no PYTHONPATH, no PYTHONDONTWRITEBYTECODE, no cache folders."""
    return {name: os.environ[name] for name in ("PATH", "JAVA_HOME", "LANG") if name in os.environ}


def environment(root: Path) -> dict[str, str]:
    """The variables of a driver that runs from the read-only environment."""
    return plain_environment() | {
        "HOME": str(root / "home"),
        "TMPDIR": str(root / "tmp"),
        "WATCH": str(root / "watch.log"),
        "SPARK_HOME": str(root / "spark"),
        "SPARK_LOCAL_DIRS": str(root / "tmp"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": str(python(root / "read_only")),
        "JAVA_TOOL_OPTIONS": CHILD_JAVA,
    }


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file below a folder, with its size and when it was written."""
    found = (Path(top, name) for top, _, names in os.walk(folder) for name in names)
    return {str(path): (path.lstat().st_size, path.lstat().st_mtime_ns) for path in found}


def read_notes(log: Path) -> tuple[Note, ...]:
    """The notes of a log."""
    return tuple(Note(*json.loads(line)) for line in log.read_text().splitlines())


@pytest.mark.parametrize("case", CASES)
def test_answers_equal_sparks_own(run: Run, case: str) -> None:
    results = run.report[case]["results"]
    assert run.report["master"] == MASTER and run.report[case]["ok"], run.report[case]
    assert {r["query"]: r["rows"] for r in results} == {r["query"]: r["native_rows"] for r in results}
    assert min(r["rows"] for r in results) > 30


@pytest.mark.parametrize("case", ("installed", "read_only"))
def test_workers_load_the_weft_that_is_installed(run: Run, root: Path, case: str) -> None:
    loaded = {note.which for note in run.noted("load") if note.worker and note.environment == case}
    assert loaded == {str(site(root / case) / "weft/final/fold/partition.py")}


def test_workers_without_weft_load_it_from_the_zip_and_else_fail(run: Run) -> None:
    assert "No module named 'weft'" in run.report["bare"]["error"]
    loaded = {note.which for note in run.noted("load") if note.worker and note.environment == "bare"}
    assert loaded and all(path.endswith("/weft.zip/weft/final/fold/partition.py") for path in loaded)


def test_no_process_asks_for_a_compiler(run: Run) -> None:
    assert run.noted("compiler") == []


def test_no_process_writes_beside_weft_or_in_home(run: Run) -> None:
    assert run.report["writable"] == [] or (os.geteuid() == 0 and not modes_bind())
    assert run.noted("write") == []
    assert run.after == run.before


def test_the_watch_is_not_blind(root: Path, tmp_path: Path) -> None:
    code = "import contextlib, os, weft.final.fold.partition\n"
    code += "with contextlib.suppress(ImportError): import numba.core\n"
    code += "os.mkdir(os.path.expanduser('~/folder'))\nopen(os.path.expanduser('~/file'), 'wb')"
    home = tmp_path / "home"
    home.mkdir()
    watched = environment(root) | {"WATCH": str(tmp_path / "log"), "HOME": str(home)}
    subprocess.run([str(python(root / "installed")), "-c", code], env=watched, check=True, timeout=60)
    notes = {(note.what, Path(note.which).name) for note in read_notes(tmp_path / "log")}
    assert {("load", "partition.py"), ("compiler", "numba"), ("write", "folder"), ("write", "file")} <= notes


def test_the_zip_holds_what_pip_installs_and_is_the_same_each_time(root: Path, tmp_path: Path) -> None:
    first, second = (Path(package_zip(tmp_path / name / "weft.zip")) for name in "ab")
    installed = site(root / "installed")
    files = {str(p.relative_to(installed)) for p in (installed / "weft").rglob("*") if p.is_file()}
    with ZipFile(first) as archive:
        assert set(archive.namelist()) == {name for name in files if not name.endswith(".pyc")}
    assert first.read_bytes() == second.read_bytes()


def test_a_driver_runs_from_the_zip_and_writes_it_anew(root: Path, tmp_path: Path) -> None:
    archive = Path(package_zip(tmp_path / "weft.zip"))
    made = archive.read_bytes()
    code = "import sys; sys.path.insert(0, 'weft.zip'); from weft import Loom; "
    code += "from weft.spark.session.package_zip import package_zip; package_zip('weft.zip')"
    command = [str(python(root / "bare")), "-c", code]
    subprocess.run(command, env=plain_environment(), cwd=tmp_path, check=True, timeout=60)
    assert archive.read_bytes() == made


def test_the_command_writes_the_zip(tmp_path: Path) -> None:
    path = tmp_path / "new" / "weft.zip"
    result = CliRunner().invoke(app, ["package", str(path), "--json"])
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"ok": True, "path": str(path)})
    assert path.read_bytes() == Path(package_zip(tmp_path / "weft.zip")).read_bytes()
    assert "spark-submit --py-files weft.zip" in CliRunner().invoke(app, ["package", "--help"]).stdout
