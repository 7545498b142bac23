"""Weft on clusters of separate processes: a stream and a batch run whose executors have Weft from a zip alone.

Each mode is one job in processes of its own, since the tests' session is there already. Rows are compared with what
Spark itself answers in that session. The environments are those of `test_workers`, which has batch runs on a local
cluster; one of master and workers starts as many processes and leaves less to chance.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from pyspark.sql import SparkSession

from tests.fixtures.java import JAVA
from tests.spark.test_workers import (
    link_all,
    make_dependencies,
    make_environment,
    plain_environment,
    python,
)
from weft.spark.session.package_zip import package_zip

pytestmark = pytest.mark.long
CONNECT = ("grpc", "grpc_status", "google.rpc", "zstandard")  # what a client of Spark Connect imports
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.task.maxFailures": "1",
    # Compiling takes far longer than running on so few rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.executor.memory": "512m",
}
QUERIES = {
    "short": "SELECT k, window.start AS w, avg(v) AS a, sum(n) AS s, count(*) AS c FROM t "
             "GROUP BY k, window(ts, '3 minutes', '1 minute')",
    "long": "SELECT k, window.start AS w, max(v) AS m, count(v) AS c FROM t "
            "GROUP BY k, window(ts, '20 minutes', '7 minutes')",
}
LAST = "last"  # the key of the row whose time closes the windows of all others

JOB = '''
import json, os, sys
import weft
from weft import Loom
from weft.errors import RunError

root, archive, queries = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
loom = Loom()
if os.environ.get("SPARK_REMOTE"):
    loom.spark.addArtifacts(archive, pyfile=True)
loom.source("t", f"{root}/source", time="ts", watermark="1 minute")
for name, sql in queries.items():
    loom.query(name, sql)
report = {"weft": weft.__file__, "session": type(loom.spark).__module__}
loom.run(f"{root}/batch")

def start(sink):
    return loom.start(f"{root}/checkpoint", sink, trigger="available")

try:
    if os.environ.get("SPARK_REMOTE"):
        start("memory")
except RunError as error:
    report["memory"] = str(error)
# On a busy machine Spark does not wait long enough for the Python that it starts at its server.
for attempt in range(3):
    try:
        stream = start(f"{root}/stream")
        break
    except RunError as error:
        if "connect back" not in str(error) or attempt == 2:
            raise
stream.awaitTermination()
print(json.dumps(report))
'''


@dataclass(frozen=True)
class Place:
    """The folder of all modes: a Spark home of links, an environment without Weft, Weft as a zip, and the job."""

    root: Path

    @property
    def zip(self) -> str:
        """Weft."""
        return str(self.root / "weft.zip")

    def command(self, name: str, *words: str) -> list[str]:
        """A command of Spark's."""
        return [str(self.root / "spark/bin" / name), *words]

    def submit(self, master: str, *words: str) -> list[str]:
        """The command that submits something to a master."""
        options = [word for key, value in SETTINGS.items() for word in ("--conf", f"{key}={value}")]
        return self.command("spark-submit", "--master", master, *options, *words)

    def job(self, mode: str) -> list[str]:
        """The job and its arguments."""
        return [str(self.root / "job.py"), str(self.root / mode), self.zip, json.dumps(QUERIES)]

    def environment(self, **more: str) -> dict[str, str]:
        """The variables of every process."""
        return plain_environment() | {
            "HOME": str(self.root), "TMPDIR": str(self.root / "tmp"), "SPARK_LOCAL_DIRS": str(self.root / "tmp"),
            "SPARK_HOME": str(self.root / "spark"), "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": str(python(self.root / "bare")), "JAVA_TOOL_OPTIONS": JAVA, **more,
        }

    def run(self, command: list[str], **more: str) -> dict:
        """What a job reports."""
        done = subprocess.run(command, env=self.environment(**more), cwd=self.root / "tmp", capture_output=True,
                              text=True, timeout=280)
        assert done.returncode == 0, (done.stdout[-3000:], done.stderr[-3000:])
        return json.loads(done.stdout.splitlines()[-1])

    @contextmanager
    def running(self, name: str, command: list[str], ready: str) -> Iterator[str]:
        """A process that runs within, once its log says so; gives what the log says."""
        log = self.root / f"{name}.log"
        with log.open("wb") as target:
            process = subprocess.Popen(command, env=self.environment(), cwd=self.root / "tmp", stdout=target,
                                       stderr=subprocess.STDOUT)
        try:
            yield awaited(process, log, ready)
        finally:
            process.terminate()
            process.wait(30)


def awaited(process: subprocess.Popen, log: Path, ready: str) -> str:
    """The first match in a log that is being written."""
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        if found := re.search(ready, log.read_text(errors="replace")):
            return found[0]
        time.sleep(0.1)
    raise AssertionError(log.read_text(errors="replace")[-3000:])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The folder, with everything that modes share."""
    root = tmp_path_factory.mktemp("cluster")
    for name in ("tmp", "spark", "deps"):
        (root / name).mkdir()
    link_all(Path(pyspark.__file__).parent, root / "spark")
    make_dependencies(root / "deps")
    make_environment(root / "bare", root / "deps")
    package_zip(root / "weft.zip")
    (root / "job.py").write_text(JOB)
    write_source(root / "source")
    return Place(root)


def write_source(folder: Path) -> None:
    """Rows of five keys in two files, and one much later."""
    folder.mkdir()
    began = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [{"ts": began + timedelta(seconds=7 * i), "k": f"k{i % 5}", "n": i, "v": i * i % 97.0 if i % 11 else None}
            for i in range(400)]
    rows.append({"ts": began + timedelta(days=1), "k": LAST, "n": 0, "v": 0.0})
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("n", pa.int64()), ("v", pa.float64())])
    for i, part in enumerate((rows[:200], rows[200:])):
        pq.write_table(pa.Table.from_pylist(part, schema), folder / f"{i}.parquet")


@pytest.fixture(scope="module")
def native(place: Place, spark: SparkSession) -> dict[str, set]:
    """What Spark answers."""
    spark.read.parquet(str(place.root / "source")).createOrReplaceTempView("t")
    found = {name: rows_of(spark.sql(sql).toArrow()) for name, sql in QUERIES.items()}
    spark.catalog.dropTempView("t")
    return found


def rows_of(table: pa.Table) -> set:
    """The rows of a table, floats up to rounding; raises where a row is there twice."""
    # Some files hold times without their zone, which is UTC in all of them.
    plain = [column.cast(pa.timestamp("us")).cast("int64") if pa.types.is_timestamp(column.type) else column
             for column in table.columns]
    columns = [[round(value, 9) if isinstance(value, float) else value for value in column.to_pylist()]
               for column in plain]
    rows = list(zip(*columns, strict=True))
    assert len(rows) == len(set(rows))
    return set(rows)


def require_answers(folder: Path, native: dict[str, set]) -> None:
    """A batch run has all rows, and a stream those of the windows that the last row has closed."""
    for name, rows in native.items():
        assert rows_of(pq.read_table(folder / "batch" / name)) == rows
        closed = {row for row in rows if row[0] != LAST}
        assert closed and rows_of(pq.read_table(folder / "stream" / name)) == closed


def prepare(place: Place, mode: str) -> Path:
    """The folder of a mode, which sees the source."""
    folder = place.root / mode
    folder.mkdir()
    (folder / "source").symlink_to(place.root / "source")
    return folder


def has_connect() -> bool:
    """Whether this environment can be a client of Spark Connect."""
    return find_spec("google") is not None and all(map(find_spec, CONNECT))


def test_a_standalone_cluster_of_two_workers(place: Place, native: dict[str, set]) -> None:
    folder = prepare(place, "standalone")
    daemon = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    package = "org.apache.spark.deploy"
    with ExitStack() as stack:
        master = place.command("spark-class", f"{package}.master.Master", *daemon)
        url = stack.enter_context(place.running("master", master, r"spark://127\.0\.0\.1:[1-9]\d*"))
        for name in ("one", "two"):
            options = ("--cores", "1", "--memory", "512m", "--work-dir", str(place.root / name), url)
            worker = place.command("spark-class", f"{package}.worker.Worker", *daemon, *options)
            stack.enter_context(place.running(name, worker, "Successfully registered with master"))
        report = place.run(place.submit(url, "--py-files", place.zip, *place.job("standalone")))
        assert all(list((place.root / name).glob("app-*/*")) for name in ("one", "two"))
    assert "/weft.zip/weft/" in report["weft"]
    require_answers(folder, native)


@pytest.mark.skipif(not has_connect(), reason="Spark Connect's packages are missing: pip install pyspark[connect]")
def test_a_connect_server_without_weft(place: Place, native: dict[str, set]) -> None:
    folder = prepare(place, "connect")
    server = place.submit("local[2]", "--conf", "spark.connect.grpc.binding.port=0",
                          "--conf", "spark.connect.grpc.binding.address=127.0.0.1",
                          "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal")
    with place.running("server", server, r"server started at: 127\.0\.0\.1:[1-9]\d*") as said:
        remote = f"sc://127.0.0.1:{said.rpartition(':')[2]}"
        command = [str(python(place.root / "bare")), *place.job("connect")]
        report = place.run(command, SPARK_REMOTE=remote, PYTHONPATH=place.zip)
    assert report["session"] == "pyspark.sql.connect.session"
    assert "the 'memory' sink would show nothing here" in report["memory"]
    require_answers(folder, native)
