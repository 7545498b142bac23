"""`weft serve`, `weft add` and `weft drop` without Spark: who may be let in, what is refused, TLS, the lease."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.unit.server.fake_service import FakeService
from weft.catalog.database import open_catalog
from weft.cli.main import app
from weft.cli.serve import keeps
from weft.cli.what_if_api import answer_windows
from weft.errors import RunError
from weft.runner.lease import SCHEDULE, SERVICE, holding_lease
from weft.server.app import service_app
from weft.server.guard import Access
from weft.server.listen import Certificate, listening
from weft.server.service_file import announced, find_service, this_service
from weft.server.worker import SparkWorker

PROJECT = '[sources.trades]\npath = "incoming"\nformat = "json"\ntime = "ts"\n'
TOKEN = "a-token-of-many-signs"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WEFT_TOKEN", raising=False)
    (tmp_path / "weft.toml").write_text(PROJECT)
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / "mean.sql").write_text("SELECT 1")
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "short").write_text("abc")
    return tmp_path


@pytest.mark.parametrize(("words", "code", "said"), [
    (("--host", "0.0.0.0"), 1, "needs a token (--token-file) and a certificate"),
    (("--host", "0.0.0.0", "--token-file", "token"), 1, "needs a certificate (--certificate and --key)"),
    (("--host", "192.0.2.1", "--token-file", "token"), 1, "needs a certificate"),
    (("--token-file", "short"), 1, "must have at least 16 plain signs"),
    (("--token-file", "missing"), 1, "cannot be read"),
    (("--certificate", "cert.pem"), 2, "give both"),
    (("--run", "nothing"), 2, "stream, schedule or both"),
    (("--port", "70000"), 2, "65535"),
    (("--certificate", "weft.toml", "--key", "weft.toml", "--port", "0"), 1, "the certificate cannot be used"),
])
def test_what_is_not_safe_does_not_start(project: Path, words: tuple[str, ...], code: int, said: str) -> None:
    result = CliRunner().invoke(app, ["serve", *words], env={"COLUMNS": "200"})
    assert result.exit_code == code and said in result.stderr, result.stderr


@pytest.mark.parametrize(("line", "said"), [
    ("port = 70000", "serve.port must be a whole number"), ("port = true", "serve.port must be"),
    ("run = 'x'", "serve.run must be stream, schedule or both"), ("tokn = 'x'", "unknown key 'serve.tokn'"),
])
def test_the_table_is_checked(project: Path, line: str, said: str) -> None:
    (project / "weft.toml").write_text(f"{PROJECT}[serve]\n{line}\n")
    assert said in CliRunner().invoke(app, ["serve"]).stderr


def test_a_second_service_is_refused_with_process_and_age(project: Path) -> None:
    (project / ".weft").mkdir()
    with open_catalog(project / ".weft" / "catalog.db") as catalog, holding_lease(catalog, kind=SERVICE) as lease:
        with holding_lease(catalog, kind=SCHEDULE):  # a runner's is another one
            pass
        result = CliRunner().invoke(app, ["serve", "--port", "0"])
        assert result.exit_code == 1 and "is another service's" in result.stderr
        assert f"process {lease.holder.process}" in result.stderr and re.search(r"\b\d s ago", result.stderr)


def test_queries_are_kept_where_the_project_reads_them(project: Path) -> None:
    from weft.cli.project import load_project

    assert keeps(load_project(project), "new")
    (project / "weft.toml").write_text(f'{PROJECT}[queries]\nfiles = ["sql/*.sql", "queries/mean.sql"]\n')
    assert not keeps(load_project(project), "new") and keeps(load_project(project), "mean")


def test_who_asks_where_nothing_runs_is_told_so(project: Path) -> None:
    result = CliRunner().invoke(app, ["drop", "mean"])
    assert result.exit_code == 1 and "start one with `weft serve`" in result.stderr
    with announced(project / ".weft/serve", this_service("http://127.0.0.1:1", None, None)):
        result = CliRunner().invoke(app, ["drop", "mean"])
        assert result.exit_code == 1 and "does not answer" in result.stderr
    assert find_service(project / ".weft/serve") is None


def make_certificate(folder: Path) -> Certificate:
    """A certificate of this machine for a test."""
    made = Certificate(folder / "cert.pem", folder / "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=weft test",
                    "-keyout", made.key, "-out", made.file], check=True, capture_output=True)
    return made


@pytest.mark.parametrize("safely", [False, True])
def test_the_command_line_asks_a_service(project: Path, safely: bool) -> None:
    service, worker = FakeService(), SparkWorker()
    certificate, token = (make_certificate(project), TOKEN) if safely else (None, None)
    (project / "high.sql").write_text("SELECT 2")
    (project / "bad.sql").write_text("\nSELEC 2")
    with listening(service_app(service, worker, answer_windows, Access(token)), 0, certificate=certificate) as address:
        known = this_service(address, token, certificate.file if certificate else None)
        with announced(project / ".weft/serve", known):
            assert (project / ".weft/serve/serve.json").stat().st_mode & 0o777 == 0o600
            added = CliRunner().invoke(app, ["add", "high", "high.sql", "--json"])
            assert added.exit_code == 0 and json.loads(added.stdout)["query"] == "high", added.stderr
            bad = CliRunner().invoke(app, ["add", "bad", "bad.sql"])
            assert bad.exit_code == 1 and "bad.sql:2:7: query 'bad': this is no SQL. Write SELECT." in bad.stderr
            taken = CliRunner().invoke(app, ["add", "vwap", "high.sql"])
            assert taken.exit_code == 1 and "already a query 'vwap'" in taken.stderr
        with announced(project / ".weft/serve", replace(known, token="wrong-token-of-16")):
            result = CliRunner().invoke(app, ["add", "high", "high.sql"])
            assert (result.exit_code, "token is needed" in result.stderr) == ((1, True) if safely else (0, False))
    worker.close()
    assert ("add", "high", "SELECT 2") in service.asked


def test_another_certificate_is_not_trusted(project: Path) -> None:
    served, other = make_certificate(project), project / "other"
    other.mkdir()
    worker = SparkWorker()
    with listening(service_app(FakeService(), worker, answer_windows), 0, certificate=served) as address, \
            announced(project / ".weft/serve", this_service(address, None, make_certificate(other).file)):
        result = CliRunner().invoke(app, ["drop", "vwap"])
        assert result.exit_code == 1 and "certificate verify failed" in result.stderr
    worker.close()
    with pytest.raises(RunError, match="the certificate cannot be used"), listening(
            service_app(FakeService(), worker, answer_windows), 0, certificate=Certificate(served.file, other)):
        pass
