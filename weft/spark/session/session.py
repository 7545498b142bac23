"""The Spark session: the caller's if there is one, else a quiet local one that is set up for Weft."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import PySparkRuntimeError
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from weft.errors import RunError
from weft.spark.session.launch import defer_interrupts, suppress_jvm_notices

JAVA_NEEDED = 17
MEMORY_CAP = 8 << 30
LOG4J = Path(__file__).resolve().with_name("log4j2.properties")
# Arrow checks the bounds of every value that it hands to the JVM; that is a fair part of the way out of Python.
ARROW_OPTIONS = ("-Darrow.enable_unsafe_memory_access=true", "-Darrow.enable_null_check_for_get=false")
# Java complains of a configuration that it cannot find, and a package in a zip has no files of its own.
LOG_OPTIONS = (f'"-Dlog4j2.configurationFile={LOG4J.as_uri()}"',) if LOG4J.is_file() else ()
JAVA_OPTIONS = (*ARROW_OPTIONS, *LOG_OPTIONS)


def has_session() -> bool:
    """Whether the program has a session already, of whatever thread."""
    try:
        return bool(SparkSession.active())
    except PySparkRuntimeError:
        return False


def active_or_local(app: str = "weft", **options: str) -> SparkSession:
    """The active session, else the one that spark-submit or SPARK_REMOTE asks for, else a new local one."""
    if active := SparkSession.getActiveSession():
        return active
    # A master that is set here would win over the one given to spark-submit, and the cluster would stand idle.
    return SparkSession.builder.getOrCreate() if is_submitted() or is_remote_requested() else local_session(app,
                                                                                                            **options)


def local_session(app: str = "weft", cores: str = "*", **options: str) -> SparkSession:
    """A local session on `cores` cores; `options` are Spark settings and win over Weft's own."""
    require_java()
    set_environment()
    quiet_loggers()
    builder = SparkSession.builder.appName(app).master(f"local[{cores}]")
    for key, value in local_settings(cores, options).items():
        builder = builder.config(key, value)
    with defer_interrupts(), suppress_jvm_notices():
        return builder.getOrCreate()


def local_settings(cores: str, options: dict[str, str]) -> dict[str, str]:
    """Weft's settings with the caller's on top; Java options are joined, not replaced."""
    ours = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": f"{driver_memory() >> 20}m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.shuffle.partitions": str(2 * core_count(cores)),
        # Spark keeps 100 pieces of generated code; a run of many queries has more, and would compile them each time.
        "spark.sql.codegen.cache.maxEntries": "2000",
    }
    java = " ".join([*JAVA_OPTIONS, options.get("spark.driver.extraJavaOptions", "")]).strip()
    return {**ours, **{key: str(value) for key, value in options.items()}, "spark.driver.extraJavaOptions": java}


def set_environment() -> None:
    """Tells Spark which Python to run and to stay on this machine."""
    # A Python driver ignores `spark.pyspark.python`: without these the workers run whatever `python3` is on PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def quiet_loggers() -> None:
    """Stops PySpark from logging each exception, JVM stack and all, that it raises anyway."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def core_count(cores: str) -> int:
    """The number of cores `local[cores]` takes."""
    if cores.isdigit():
        return int(cores)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def driver_memory() -> int:
    """Half the machine's memory, 8 GiB at most: the Python workers need the other half."""
    return min(machine_memory() // 2, MEMORY_CAP)


def machine_memory() -> int:
    """The memory this process may use, in bytes: the machine's, or the container's where that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text().strip() if limit.is_file() else "max"
    return min(total, int(text)) if text.isdigit() else total


def is_submitted() -> bool:
    """Whether spark-submit runs this program, so that Java runs already and the settings are given."""
    return bool(os.environ.get("PYSPARK_GATEWAY_PORT"))


def is_remote_requested() -> bool:
    """Whether the user names a Connect server, so that Java runs there."""
    return bool(os.environ.get("SPARK_REMOTE"))


def require_java() -> None:
    """Raises with one sentence of advice where Spark would find no Java 17+."""
    if is_submitted():
        return
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home, "bin", "java")) if home else "java")
    version = java_version(java) if java else None
    if version is None or version < JAVA_NEEDED:
        raise RunError(java_advice(home, version))


def java_advice(home: str | None, version: int | None) -> str:
    """What is wrong with the Java that was found, and what to do."""
    found = f"Java {version} is too old" if version else "there is no Java"
    where = "in JAVA_HOME" if home else "on PATH"
    return (
        f"Spark needs Java {JAVA_NEEDED} or newer and {found} {where}: install a JRE "
        "(Debian: apt-get install openjdk-17-jre-headless) or point JAVA_HOME to one."
    )


def java_version(java: str) -> int | None:
    """The major version that `java -version` prints, or None where it prints none."""
    text = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match[1]) if match else None


@contextmanager
def temporary_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Settings of the session that hold within and are then as they were."""
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)
