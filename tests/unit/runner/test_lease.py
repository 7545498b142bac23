"""The lease of a store, with real processes: two at once, killed ones, suspended ones, and clocks that are wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from weft.catalog.database import open_catalog
from weft.catalog.leases import find_lease, release_lease, renew_lease, replace_lease
from weft.errors import RunError
from weft.runner import lease as module
from weft.runner.lease import SCHEDULE, LeaseTimes, holding_lease, take_lease
from weft.runner.process import is_gone, this_process

HOLDER = Path(__file__).with_name("holder.py")
HOME = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
BEAT = 0.1
QUICK = LeaseTimes(BEAT, 4 * BEAT)


@pytest.fixture
def catalog(tmp_path):
    with open_catalog(tmp_path / "catalog.db") as made:
        yield made


@pytest.fixture
def start(catalog):
    made = []

    def begin(beat=BEAT):
        child = subprocess.Popen([sys.executable, str(HOLDER), str(catalog.path), str(beat)], env=HOME,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        made.append(child)
        return child

    yield begin
    for child in made:
        child.kill()
        child.communicate()


def said(child):
    return child.stdout.readline().strip()


def test_a_second_runner_is_told_who_has_the_store(catalog, start):
    child = start(beat=5.0)
    assert said(child) == "held"
    with pytest.raises(RunError) as refused, holding_lease(catalog):
        pass
    text = str(refused.value)
    assert f"process {child.pid} on host '{this_process().host}'" in text and str(catalog.path.parent) in text
    assert "renewed its lease 0 s ago" in text or "renewed its lease 1 s ago" in text
    child.communicate("")
    with holding_lease(catalog):
        assert find_lease(catalog, SCHEDULE.name).holder.process == os.getpid(), "given back, it is free at once"


def test_of_many_that_start_at_once_one_gets_it(start):
    children = [start(beat=5.0) for _ in range(4)]
    words = [said(child) for child in children]
    assert words.count("held") == 1
    assert sum("is another runner's" in word for word in words) == 3


def test_the_lease_of_a_killed_process_is_free_at_once(catalog, start):
    child = start(beat=60.0)
    assert said(child) == "held"
    assert not is_gone(find_lease(catalog, SCHEDULE.name).holder)
    child.send_signal(signal.SIGKILL)
    # Nobody has asked after the child yet, so it is a zombie, which is gone all the same.
    until = time.monotonic() + 5
    while not is_gone(find_lease(catalog, SCHEDULE.name).holder) and time.monotonic() < until:
        time.sleep(0.02)
    with holding_lease(catalog) as lease:
        assert lease.holder.process == os.getpid()


def test_a_process_of_the_same_number_that_started_later_is_another(catalog):
    mine = this_process()
    assert not is_gone(mine)
    assert is_gone(replace(mine, born="1"))
    assert not is_gone(replace(mine, machine="another machine", process=1 << 22)), "nobody can tell from here"


def test_a_suspended_runner_loses_its_lease_and_ends(catalog, start):
    child = start()
    assert said(child) == "held"
    child.send_signal(signal.SIGSTOP)
    time.sleep(6 * BEAT)
    with holding_lease(catalog, QUICK):
        child.send_signal(signal.SIGCONT)
        time.sleep(3 * BEAT)
        words, _ = child.communicate("")
    assert "was away for too long" in words and f"process {os.getpid()}" in words
    assert find_lease(catalog, SCHEDULE.name) is None, "it gives back only what is its own"


@pytest.mark.parametrize("off", [3600.0, -3600.0])
def test_a_wrong_clock_does_not_make_two_runners(catalog, start, monkeypatch, off):
    """The clock is an hour off for whoever comes second: the lease looks expired, or of the future, and is renewed."""
    child = start()
    assert said(child) == "held"
    now = time.time
    monkeypatch.setattr(module.time, "time", lambda: now() + off)
    with pytest.raises(RunError, match="is another runner's"), holding_lease(catalog, QUICK):
        pass


def test_of_two_that_find_an_expired_lease_one_gets_it(catalog):
    """Another machine's runner is gone: nobody here can look it up, so its lease must run out first."""
    lost = replace(this_process(), machine="another machine", host="elsewhere")
    assert replace_lease(catalog, SCHEDULE.name, lost, None)
    with pytest.raises(RunError, match="on host 'elsewhere'"):
        take_lease(catalog, LeaseTimes(BEAT, 60))
    time.sleep(5 * BEAT)
    found = find_lease(catalog, SCHEDULE.name)
    holder = take_lease(catalog, QUICK)
    assert not replace_lease(catalog, SCHEDULE.name, lost, found), "what was found is not there any more"
    assert not renew_lease(catalog, SCHEDULE.name, lost)
    release_lease(catalog, SCHEDULE.name, lost)
    assert find_lease(catalog, SCHEDULE.name).holder == holder


def test_a_disk_that_is_full_for_a_while_costs_nobody_the_lease(catalog, monkeypatch):
    from weft.errors import CatalogError

    def full(*_):
        raise CatalogError("there is no room left on the disk.")

    with holding_lease(catalog, QUICK) as lease:
        with monkeypatch.context() as patched:
            patched.setattr(module, "renew_lease", full)
            time.sleep(6 * BEAT)
            lease.require()
        time.sleep(3 * BEAT)
        assert find_lease(catalog, SCHEDULE.name).beats > 0
