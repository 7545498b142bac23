"""The local session's settings, and what it says where Java is missing; no Spark is started here."""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from weft.errors import RunError
from weft.spark.session.launch import NOTICE, defer_interrupts, drop_noise, suppress_jvm_notices
from weft.spark.session.session import driver_memory, local_settings, require_java


def fake_java(home: Path, version: str) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-01' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return home


def test_the_callers_settings_win() -> None:
    made = local_settings("4", {"spark.sql.shuffle.partitions": "9", "spark.driver.extraJavaOptions": "-Dmine=1"})
    assert made["spark.sql.shuffle.partitions"] == "9"
    assert made["spark.driver.extraJavaOptions"].endswith("-Dmine=1")
    assert "-Darrow.enable_unsafe_memory_access=true" in made["spark.driver.extraJavaOptions"]
    assert local_settings("4", {})["spark.sql.shuffle.partitions"] == "8"


def test_the_driver_takes_eight_gigabytes_at_most() -> None:
    assert 0 < driver_memory() <= 8 << 30


@pytest.mark.parametrize("version", ["17.0.15", "21", "25-ea"])
def test_a_new_java_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, version)))
    require_java()


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2"])
def test_an_old_java_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, version)))
    with pytest.raises(RunError, match=r"Java (8|11) is too old in JAVA_HOME: install a JRE"):
        require_java()


def test_no_java_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RunError, match="there is no Java on PATH"):
        require_java()


def test_only_javas_notice_is_dropped(capfd: pytest.CaptureFixture[str]) -> None:
    with suppress_jvm_notices():
        os.write(2, NOTICE + b"\nsomething else\n")
    for thread in threading.enumerate():
        if thread.name == "weft-stderr":
            thread.join(5)
    assert capfd.readouterr().err == "something else\n"


def test_what_stateful_workers_print_of_their_start_is_dropped() -> None:
    lines = [b"Starting Streaming TransformWithStateInPandas Python worker.\n", b"\n", b"an error\n", b"\n", NOTICE,
             b"\n", b"Streaming TransformWithStateInPandas Python worker finish init\n", b"more\n"]
    assert list(drop_noise(lines)) == [b"an error\n", b"\n", b"\n", b"more\n"]


@pytest.fixture
def sigint() -> Iterator[Callable[[object], None]]:
    """Sets what a Ctrl-C does, whatever whoever started the tests made of it: nohup and some CI ignore it."""
    before = signal.getsignal(signal.SIGINT)
    yield lambda handler: signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_for_the_start(sigint: Callable[[object], None]) -> None:
    sigint(signal.default_int_handler)
    done = []
    with pytest.raises(KeyboardInterrupt), defer_interrupts():
        os.kill(os.getpid(), signal.SIGINT)
        done.append("started")
    assert done == ["started"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def handler(number: int, frame: object) -> None:
    """What Spark sets."""


def test_a_handler_that_spark_sets_stays(sigint: Callable[[object], None]) -> None:
    sigint(signal.default_int_handler)
    with defer_interrupts():
        signal.signal(signal.SIGINT, handler)
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_ignored_interrupt_stays_ignored(sigint: Callable[[object], None]) -> None:
    sigint(signal.SIG_IGN)
    with defer_interrupts():
        os.kill(os.getpid(), signal.SIGINT)
        signal.signal(signal.SIGINT, handler)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
