"""A session that somebody else made, whose workers would run another Python than this program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import weft
from tests.fixtures.java import CHILD_JAVA

JOB = '''
import json, sys
from pyspark.sql import SparkSession
from weft import Loom
from weft.errors import RunError

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "2")
folder, bare = sys.argv[1:]
spark.range(20).selectExpr("timestamp_seconds(1700000000 + id) AS ts", "id AS n").write.parquet(f"{folder}/in")
TEXT = "SELECT window.end AS at, sum(n) AS s FROM t GROUP BY window(ts, '4 seconds', '2 seconds')"

def loom_in(session):
    loom = Loom(session)
    loom.source("t", f"{folder}/in", time="ts", format="parquet", watermark="0 seconds")
    loom.query("q", TEXT)
    return loom

loom = loom_in(spark)
stream = loom.start(f"{folder}/checkpoint", "memory", trigger="available")
stream.awaitTermination()
found = {"ok": loom.verify().ok, "streamed": stream.memory.table("q").num_rows}
other = spark.newSession()
other.conf.set("spark.sql.execution.pyspark.python", bare)
try:
    loom_in(other).run("noop")
except RunError as error:
    found["error"] = str(error)
print(json.dumps(found))
'''


@pytest.mark.long
def test_workers_get_this_python_and_one_without_packages_is_refused(tmp_path: Path) -> None:
    """As `.venv/bin/python job.py` does it where nobody activated the environment: PATH has another python3."""
    venv.create(tmp_path / "bare", symlinks=True)
    (tmp_path / "job.py").write_text(JOB)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "SPARK", "VIRTUAL"))}
    path = {"PATH": f"{tmp_path / 'bare' / 'bin'}:{os.environ['PATH']}", "SPARK_LOCAL_IP": "127.0.0.1",
            "PYTHONPATH": str(Path(weft.__file__).parents[1]), "JAVA_TOOL_OPTIONS": CHILD_JAVA}
    command = [sys.executable, str(tmp_path / "job.py"), str(tmp_path), str(tmp_path / "bare" / "bin" / "python3")]
    done = subprocess.run(command, env=kept | path, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-5000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["ok"], found["streamed"]) == (True, 9)
    assert "Python of this session's workers has no " in found["error"]
    assert "set PYSPARK_PYTHON to one that has" in found["error"] and sys.executable in found["error"]
