"""The catalog's file: made, opened, refused, shared by processes, killed in the middle of writes."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from weft.catalog import database
from weft.catalog.database import APPLICATION, open_catalog
from weft.catalog.registrations import registrations
from weft.catalog.schema import MIGRATIONS, VERSION
from weft.catalog.slice_caches import expired_generations, take_slice_cache
from weft.errors import CatalogError, WeftError
from weft.model.window import Window

WRITER = Path(__file__).with_name("writer.py")
HOME = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
INSERT = "INSERT INTO expressions (source, canonical, text) VALUES (?, ?, ?)"
COUNT = "SELECT count(*) FROM expressions"


def put(catalog, number):
    return catalog.change(INSERT, ("trades", f"x{number}", "x"))


def raw(path, *statements):
    """Run statements on a file as another program would."""
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_new_catalog_has_every_table_and_survives_being_opened_again(tmp_path):
    path = tmp_path / "deep" / "store" / "catalog.db"
    with open_catalog(path) as catalog:
        assert put(catalog, 1) == 1
        assert catalog.rows("PRAGMA journal_mode") == [("wal",)]
        assert catalog.rows("PRAGMA synchronous") == [(2,)]
        assert catalog.rows("PRAGMA foreign_keys") == [(1,)]
    with open_catalog(path, create=False) as catalog:
        assert catalog.rows(COUNT) == [(1,)]
        assert catalog.rows("PRAGMA application_id") == [(APPLICATION,)]
        assert catalog.rows("PRAGMA user_version") == [(VERSION,)]


def test_an_error_undoes_the_whole_transaction(tmp_path):
    with open_catalog(tmp_path / "catalog.db") as catalog:
        with pytest.raises(ValueError), catalog.changing():
            put(catalog, 1)
            with catalog.changing():
                put(catalog, 2)
            raise ValueError
        assert catalog.rows(COUNT) == [(0,)]
        put(catalog, 3)
        assert catalog.rows(COUNT) == [(1,)]


def test_threads_share_a_catalog(tmp_path):
    def work(first):
        for number in range(first, first + 20):
            with catalog.changing():
                put(catalog, number)
                put(catalog, number + 1000)

    with open_catalog(tmp_path / "catalog.db") as catalog:
        threads = [threading.Thread(target=work, args=(20 * i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert catalog.rows(COUNT) == [(160,)]


def test_an_older_catalog_is_brought_to_this_version(tmp_path, monkeypatch):
    path = tmp_path / "catalog.db"
    with open_catalog(path) as catalog:
        put(catalog, 1)
    monkeypatch.setattr(database, "MIGRATIONS", (*MIGRATIONS, ("CREATE TABLE more (id INTEGER) STRICT",)))
    monkeypatch.setattr(database, "VERSION", VERSION + 1)
    with open_catalog(path) as catalog:
        assert catalog.rows(COUNT) == [(1,)]
        assert catalog.rows("SELECT count(*) FROM more") == [(0,)]


def test_windows_of_an_older_catalog_are_windows_of_time(tmp_path, monkeypatch):
    path = tmp_path / "catalog.db"
    with monkeypatch.context() as patched:
        patched.setattr(database, "MIGRATIONS", MIGRATIONS[:2])
        patched.setattr(database, "VERSION", 2)
        open_catalog(path).close()
    raw(path, "INSERT INTO registrations (name, sql, source, range, slide, start, registered) "
              "VALUES ('a', 'SELECT 1', 'trades', 60, 20, 5, 'then')")
    with open_catalog(path) as catalog:
        assert [one.window for one in registrations(catalog)] == [Window(60, 20, 5)]


def test_slices_that_an_older_catalog_kept_are_swept(tmp_path, monkeypatch):
    """Their columns have names of places, by which nobody looks for them any more."""
    path = tmp_path / "catalog.db"
    with monkeypatch.context() as patched:
        patched.setattr(database, "MIGRATIONS", MIGRATIONS[:3])
        patched.setattr(database, "VERSION", 3)
        with open_catalog(path) as old:
            old.change("INSERT INTO shelves (fingerprint, columns, used) VALUES ('f', '[]', 9e9)")
            old.change("INSERT INTO generations (id, shelf, state, since) VALUES ('g', 1, 'live', 9e9)")
    with open_catalog(path) as new:
        assert expired_generations(new) == ["g"]
        assert take_slice_cache(new, "f", (), wider=False).generations == ()


def test_slices_of_an_older_catalog_are_of_an_epoch_of_their_own(tmp_path, monkeypatch):
    """Nobody can say what was added to them, so answers elsewhere are made anew once."""
    path = tmp_path / "catalog.db"
    with monkeypatch.context() as patched:
        patched.setattr(database, "MIGRATIONS", MIGRATIONS[:4])
        patched.setattr(database, "VERSION", 4)
        with open_catalog(path) as old:
            for mark in "ab":
                old.change("INSERT INTO slice_caches (fingerprint, columns, used) VALUES (?, '[]', 9e9)", (mark,))
            old.change("INSERT INTO generations (id, slice_cache, state, since) VALUES ('g', 1, 'live', 9e9)")
    with open_catalog(path) as new:
        a, b = (take_slice_cache(new, mark, (), wider=False) for mark in "ab")
        assert a.ids == ("g",) and len(a.epoch) == 32 and a.epoch != b.epoch and a.version == 0


def test_a_migration_that_fails_changes_nothing(tmp_path, monkeypatch):
    path = tmp_path / "catalog.db"
    open_catalog(path).close()
    with monkeypatch.context() as patched:
        patched.setattr(database, "MIGRATIONS", (*MIGRATIONS, ("CREATE TABLE more (id INTEGER)", "NO SQL")))
        patched.setattr(database, "VERSION", VERSION + 1)
        with pytest.raises(sqlite3.OperationalError):
            open_catalog(path)
    with open_catalog(path) as catalog:
        assert catalog.rows("SELECT count(*) FROM sqlite_master WHERE name = 'more'") == [(0,)]


def test_a_newer_version_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "catalog.db"
    open_catalog(path).close()
    raw(path, f"PRAGMA user_version = {VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(CatalogError, match=rf"newer Weft wrote it \(version {VERSION + 1}.*Upgrade Weft"):
        open_catalog(path)
    assert path.read_bytes() == before


def test_a_catalog_upgraded_meanwhile_is_not_written(tmp_path):
    path = tmp_path / "catalog.db"
    with open_catalog(path) as catalog:
        raw(path, f"PRAGMA user_version = {VERSION + 1}")
        with pytest.raises(CatalogError, match="newer Weft"):
            put(catalog, 1)
        assert catalog.rows(COUNT) == [(0,)]


def foreign(path):
    raw(path, "CREATE TABLE mine (id INTEGER)")


def numbered(path):
    raw(path, "PRAGMA application_id = 17")


def text(path):
    path.write_text("These are notes, and nothing that SQLite would read. " * 50)


def damaged(path):
    with open_catalog(path) as catalog:
        for number in range(200):
            put(catalog, number)
    data = bytearray(path.read_bytes())
    data[100:4096] = os.urandom(3996)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (foreign, "another program keeps its data in it. Choose another store"),
        (numbered, "another program keeps its data in it"),
        (text, "not an SQLite file"),
        (damaged, "damaged.*Move it away"),
        (Path.mkdir, "is a folder, not a file"),
    ],
    ids=["foreign", "numbered", "text", "damaged", "folder"],
)
def test_what_is_no_catalog_is_refused_and_left_alone(tmp_path, make, sentence):
    path = tmp_path / "catalog.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(CatalogError, match=sentence) as caught:
        open_catalog(path)
    assert str(path) in str(caught.value) and isinstance(caught.value, WeftError)
    assert before is None or path.read_bytes() == before


def test_an_empty_file_becomes_a_catalog(tmp_path):
    """A process killed while it makes a catalog leaves one."""
    path = tmp_path / "catalog.db"
    path.touch()
    with open_catalog(path) as catalog:
        assert catalog.rows(COUNT) == [(0,)]


def test_reading_makes_no_catalog(tmp_path):
    with pytest.raises(CatalogError, match="there is none yet"):
        open_catalog(tmp_path / "none" / "catalog.db", create=False)
    assert not (tmp_path / "none").exists()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CatalogError, match="folder cannot be made"):
        open_catalog(tmp_path / "file" / "catalog.db")


def test_a_folder_that_cannot_be_written():
    """/proc takes no files, whoever asks."""
    with pytest.raises(CatalogError, match="writable, or choose another store"):
        open_catalog("/proc/catalog.db")


def test_a_lock_held_too_long_is_told(tmp_path):
    path = tmp_path / "catalog.db"
    with open_catalog(path) as holder, open_catalog(path, wait=0.1) as waiting, holder.changing():
        with pytest.raises(CatalogError, match="another process has been writing to it for too long"):
            put(waiting, 1)
        assert waiting.rows(COUNT) == [(0,)]  # readers do not wait


def test_a_writer_killed_at_any_moment_leaves_whole_transactions(tmp_path):
    path, chance = tmp_path / "catalog.db", random.Random(7)
    seen, before = 0, 0
    for _ in range(20):
        process = subprocess.Popen([sys.executable, str(WRITER), str(path)], stdout=subprocess.PIPE, env=HOME)
        process.stdout.readline()
        time.sleep(chance.uniform(0, 0.1))
        process.kill()
        process.communicate()
        with open_catalog(path) as catalog:
            assert catalog.rows("PRAGMA integrity_check") == [("ok",)]
            counts = [count for (count,) in catalog.rows("SELECT count(*) FROM expressions GROUP BY source")]
        assert set(counts) <= {5} and len(counts) >= before
        seen, before = seen + (len(counts) > before), len(counts)
    assert seen > 5  # it did write


def test_many_processes_may_make_the_same_catalog(tmp_path):
    path = tmp_path / "new" / "catalog.db"
    code = "import sys; from weft.catalog.database import open_catalog; open_catalog(sys.argv[1]).close()"
    processes = [subprocess.Popen([sys.executable, "-c", code, str(path)], env=HOME) for _ in range(6)]
    assert [process.wait() for process in processes] == [0] * 6
    with open_catalog(path, create=False) as catalog:
        assert catalog.rows("PRAGMA integrity_check") == [("ok",)]


def test_a_catalog_that_another_makes_while_it_is_looked_at_is_not_taken_for_a_stranger_s(tmp_path, monkeypatch):
    """Half of what is looked at would be from before the other's transaction, and half from after it."""
    path, real, others = tmp_path / "catalog.db", database.read_pragma, []

    def number(connection, pragma):
        found = real(connection, pragma)
        if not others:
            others.append(threading.Thread(target=lambda: open_catalog(path).close()))
            others[0].start()
            others[0].join(0.5)  # it may have to wait for the one that looks
        return found

    monkeypatch.setattr(database, "read_pragma", number)
    with open_catalog(path) as catalog:
        others[0].join()
        assert catalog.rows("PRAGMA user_version") == [(VERSION,)]
