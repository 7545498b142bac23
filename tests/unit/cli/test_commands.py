"""The commands over a loom that only pretends: what they print, and how they exit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from weft.cli.init import create_project
from weft.cli.main import app
from weft.errors import Place, PlanError, QueriesError, RefusedError, RunError, SourceError
from weft.optimize import OPTIMIZERS

Weft = Callable[..., Result]


class FakeLoom:
    """Takes every query but those that say JOIN; its run and its verify end as `outcome` says."""

    outcome: Any = None

    def __init__(self) -> None:
        self.names: list[str] = []
        self.every: dict[str, str | None] = {}
        self.sink: Any = None
        self.algorithm: Any = None
        self.optimizer: Any = None
        self.measured = False
        self.store: Path | None = None
        self.closed = False
        self.spark, self.queries = SimpleNamespace(conf={}), ()

    def measure(self) -> None:
        self.measured = True

    def attach(self, store: Path) -> None:
        self.store = store

    def close(self) -> None:
        self.closed = True

    def source(self, name: str, path: str, **options: Any) -> None:
        if not Path(path).exists():
            raise SourceError(f"there is nothing at '{path}'.")

    def add_queries(self, queries: dict[str, str], every: dict[str, str] | None = None,
                    shed: dict[str, str] | None = None) -> None:
        lines = [(name, *line) for name, sql in queries.items() for line in enumerate(sql.split("\n"), start=1)]
        places = [(name, Place(number, line.index("JOIN") + 1)) for name, number, line in lines if "JOIN" in line]
        if places:
            raise QueriesError(tuple(RefusedError(n, "joins do not run yet.", place=place) for n, place in places))
        self.names += queries
        self.every |= {name: (every or {}).get(name) for name in queries}

    def plan(self, algorithm: Any, optimizer: str) -> None:
        self.algorithm, self.optimizer = algorithm, optimizer
        if optimizer == "exhaustive":
            raise PlanError("Exhaustive takes at most 10 queries, not 11.")
        if algorithm == {"add": "prefix"}:
            raise PlanError("'prefix' cannot fold sum(price).")

    def explain(self, algorithm: Any, optimizer: str, slicer: str = "pairs") -> Any:
        self.slicer = slicer
        self.plan(algorithm, optimizer)
        data = {"queries": self.names}
        return SimpleNamespace(__str__=str, to_dict=lambda: data, to_html=lambda: "<html></html>")

    def run(self, sink: Any, queries: Any, progress: Any, algorithm: Any, optimizer: str, incremental: bool,
            changes: str | None) -> Any:
        self.plan(None, optimizer)
        self.algorithm = algorithm
        print("noise")
        progress(1, 2, "half")
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        self.sink, self.changes = sink, changes
        path = None if sink == "noop" else f"{sink['path']}/x"
        report = [{"query": name, "path": path, "seconds": 0.5} for name in self.names]
        read = {"source": "trades", "files": 3, "new_files": 1, "seconds": 0.2, "anew": None}
        return SimpleNamespace(report=report, sources=(read,) if incremental else ())

    def verify(self, queries: Any, progress: Any, algorithm: Any, optimizer: str) -> Any:
        self.algorithm, self.optimizer = algorithm, optimizer
        same = {"ok": True, "rows": 3, "native_rows": 3, "differences": [], "seconds": 0.1}
        results = [SimpleNamespace(query=name, **same) for name in self.names]
        if self.outcome == "differs":
            results[0].ok, results[0].differences = False, ["[weft] 1, [spark] 2"]
        ok = all(item.ok for item in results)
        return SimpleNamespace(ok=ok, results=results, to_dict=lambda: {"results": [vars(item) for item in results]})


@pytest.fixture
def loom(monkeypatch: pytest.MonkeyPatch) -> FakeLoom:
    """The loom that every command of the test gets."""
    loom = FakeLoom()
    monkeypatch.setattr("weft.cli.weaving.new_loom", lambda project: loom)
    return loom


@pytest.fixture
def weft(tmp_path: Path, loom: FakeLoom, monkeypatch: pytest.MonkeyPatch) -> Weft:
    """Runs a command in a new project."""
    create_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(app, args)


def break_two_queries() -> None:
    Path("queries/vwap.sql").write_text("SELECT 1\nFROM a JOIN b\n")
    Path("queries/more.sql").write_text("-- name: one\nSELECT 1\n-- name: two\nSELECT 1\n  FROM a JOIN b\n")


def test_check_passes(weft: Weft) -> None:
    result = weft("check")
    assert (result.exit_code, result.stdout) == (0, "6 queries checked, no errors.\n")


def test_check_lists_every_error_with_its_place(weft: Weft) -> None:
    break_two_queries()
    result = weft("check")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        "queries/more.sql:5:10: query 'two': joins do not run yet.",
        "queries/vwap.sql:2:8: query 'vwap': joins do not run yet.",
    ]


def test_check_gives_errors_to_machines(weft: Weft) -> None:
    break_two_queries()
    result = weft("check", "--json")
    data = json.loads(result.stdout)
    assert (result.exit_code, data["ok"]) == (1, False)
    first = data["errors"][0]
    assert (first["query"], first["file"], first["line"], first["column"]) == ("two", "queries/more.sql", 5, 10)
    assert first["kind"] == "RefusedError"


def test_bounds_of_weft_toml_reach_their_queries(weft: Weft, loom: FakeLoom) -> None:
    text = Path("weft.toml").read_text()
    Path("weft.toml").write_text(text.replace("[queries]", "[queries]\nevery = { vwap = '1 minute', '*' = '1 hour' }"))
    assert weft("check").exit_code == 0
    assert {name: every for name, every in loom.every.items() if every} == {"vwap": "1 minute"}


def test_a_bound_of_no_query_is_a_fault(weft: Weft) -> None:
    text = Path("weft.toml").read_text()
    Path("weft.toml").write_text(text.replace("[queries]", "[queries]\nevery = { vwpa = '1 minute' }"))
    result = weft("check")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "weft.toml: queries.every: there is no query 'vwpa'. Did you mean 'vwap'?\n"


def test_a_missing_source_is_said_once(weft: Weft) -> None:
    Path("weft.toml").write_text("[sources.trades]\npath = 'nowhere'\n")
    result = weft("run")
    assert result.exit_code == 1
    assert "there is nothing at" in result.stderr and len(result.stderr.splitlines()) == 1


def test_one_query_is_chosen(weft: Weft, loom: FakeLoom) -> None:
    assert weft("run", "--query", "vwap", "-q", "range_2h").exit_code == 0
    assert sorted(loom.names) == ["range_2h", "vwap"]


def test_an_unknown_query_is_wrong_usage(weft: Weft) -> None:
    result = weft("run", "--query", "vwpa")
    assert result.exit_code == 2
    assert "Did you mean 'vwap'?" in result.stderr


def test_plan_prints_json_and_writes_html(weft: Weft) -> None:
    result = weft("plan", "--json", "--html", "plan.html")
    assert result.exit_code == 0
    assert "vwap" in json.loads(result.stdout)["queries"]
    assert Path("plan.html").read_text() == "<html></html>"


def test_run_writes_to_the_projects_sink(weft: Weft, loom: FakeLoom) -> None:
    result = weft("run")
    assert result.exit_code == 0
    assert loom.sink == {"format": "parquet", "path": str(Path.cwd() / "out")}
    assert "vwap" in result.stdout and "out/x" in result.stdout and "noise" not in result.stdout


def test_run_takes_another_sink(weft: Weft, loom: FakeLoom) -> None:
    assert weft("run", "--sink", "csv:there").exit_code == 0
    assert loom.sink == {"format": "csv", "path": str(Path("there").resolve())}
    assert json.loads(weft("run", "--sink", "noop", "--json").stdout)["sink"] == {"format": "noop", "path": None}


def test_run_does_not_write_over_its_source(weft: Weft) -> None:
    result = weft("run", "--sink", "parquet:data/trades")
    assert result.exit_code == 1 and "overlap" in result.stderr


@pytest.mark.parametrize(
    ("outcome", "code", "said"),
    [
        (RunError("the disk is full."), 1, "the disk is full.\n"),
        (ValueError("boom\nmore"), 3, "ValueError: boom. Run again with --debug to see where.\n"),
        (KeyboardInterrupt(), 130, "interrupted.\n"),
    ],
)
def test_a_failed_run_has_its_exit_code_and_one_line(
    weft: Weft, loom: FakeLoom, outcome: BaseException, code: int, said: str
) -> None:
    loom.outcome = outcome
    result = weft("run")
    assert (result.exit_code, result.stderr.removeprefix("noise\n"), result.stdout) == (code, said, "")
    assert json.loads(weft("run", "--json").stdout)["ok"] is False


def test_debug_shows_the_traceback(weft: Weft, loom: FakeLoom) -> None:
    loom.outcome = ValueError("boom")
    assert "Traceback" in weft("run", "--debug").stderr


def test_verify_says_equal(weft: Weft) -> None:
    result = weft("verify")
    assert result.exit_code == 0 and "equal" in result.stdout


def test_verify_shows_what_differs(weft: Weft, loom: FakeLoom) -> None:
    loom.outcome = "differs"
    result = weft("verify")
    assert result.exit_code == 1
    assert "differs" in result.stdout and "[weft] 1, [spark] 2" in result.stdout
    assert json.loads(weft("verify", "--json").stdout)["ok"] is False


ALGORITHMS = {
    "one for all": (["chain"], {"*": "chain"}),
    "one for a function": (["max=slick_deque"], {"max": "slick_deque"}),
    "several": (["max=doubling", "add = prefix", "chain"], {"max": "doubling", "add": "prefix", "*": "chain"}),
}


@pytest.mark.parametrize("command", ["plan", "run", "verify"])
@pytest.mark.parametrize("case", ALGORITHMS)
def test_an_algorithm_is_forced(weft: Weft, loom: FakeLoom, command: str, case: str) -> None:
    texts, forced = ALGORITHMS[case]
    result = weft(command, *(part for text in texts for part in ("--algorithm", text)))
    assert (result.exit_code, loom.algorithm) == (0, forced)


def test_without_an_algorithm_weft_chooses(weft: Weft, loom: FakeLoom) -> None:
    loom.algorithm = "unset"
    assert weft("plan").exit_code == 0 and loom.algorithm is None


@pytest.mark.parametrize("command", ["plan", "run", "verify"])
@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["slik_deque"], "did you mean 'slick_deque'?"),
        (["max=slik_deque"], "did you mean 'slick_deque'?"),
        (["zzz"], "the algorithms are prefix, doubling"),
        (["sum=prefix"], "cannot force 'prefix' for 'sum': did you mean 'add'?"),
        (["quux=prefix"], "the functions are add, min, max"),
        (["=prefix"], "cannot force 'prefix' for ''"),
        (["max="], "there is no algorithm ''"),
        (["chain", "prefix"], "all functions can have one algorithm only."),
        (["max=chain", "max=doubling"], "'max' can have one algorithm only."),
    ],
)
def test_an_algorithm_that_there_is_not_is_wrong_usage(
    weft: Weft, loom: FakeLoom, command: str, texts: list[str], said: str
) -> None:
    result = weft(command, *(part for text in texts for part in ("-a", text)))
    shown = " ".join(result.stderr.replace("│", " ").split())
    assert result.exit_code == 2 and said in shown and "--algorithm" in shown
    assert loom.names == []  # nothing has started


def test_an_algorithm_that_must_not_fold_is_at_fault(weft: Weft) -> None:
    result = weft("plan", "--algorithm", "add=prefix", "--json")
    assert result.exit_code == 1
    (error,) = json.loads(result.stdout)["errors"]
    assert (error["kind"], error["reason"]) == ("PlanError", "'prefix' cannot fold sum(price).")


def test_the_projects_algorithm_holds_unless_the_command_line_has_one(weft: Weft, loom: FakeLoom) -> None:
    with Path("weft.toml").open("a") as file:
        file.write("\n[plan.algorithm]\nmax = 'doubling'\nadd = 'chain'\n")
    assert weft("run").exit_code == 0 and loom.algorithm == {"max": "doubling", "add": "chain"}
    assert weft("run", "-a", "binary").exit_code == 0 and loom.algorithm == {"*": "binary"}


def test_check_names_an_algorithm_of_the_project_that_must_not_fold(weft: Weft) -> None:
    with Path("weft.toml").open("a") as file:
        file.write("\n[plan]\nalgorithm = { add = 'prefix' }\n")
    result = weft("check")
    assert (result.exit_code, result.stderr) == (1, "'prefix' cannot fold sum(price).\n")


@pytest.mark.parametrize("command", ["plan", "run", "verify"])
def test_an_optimizer_is_named(weft: Weft, loom: FakeLoom, command: str) -> None:
    assert weft(command).exit_code == 0 and loom.optimizer == OPTIMIZERS[0].name
    assert weft(command, "--optimizer", "weave_share").exit_code == 0 and loom.optimizer == "weave_share"
    with Path("weft.toml").open("a") as file:
        file.write("\n[plan]\noptimizer = 'share_all'\n")
    assert weft(command).exit_code == 0 and loom.optimizer == "share_all"
    assert weft(command, "-o", "no_share").exit_code == 0 and loom.optimizer == "no_share"


def test_a_slicer_is_named(weft: Weft, loom: FakeLoom) -> None:
    assert weft("plan").exit_code == 0 and loom.slicer == "pairs"
    assert weft("plan", "--slicer", "panes").exit_code == 0 and loom.slicer == "panes"


@pytest.mark.parametrize("command", ["plan", "run", "verify"])
def test_an_optimizer_that_there_is_not_is_wrong_usage(weft: Weft, loom: FakeLoom, command: str) -> None:
    result = weft(command, "--optimizer", "weave_sare")
    shown = " ".join(result.stderr.replace("│", " ").split())
    assert result.exit_code == 2 and "did you mean 'weave_share'?" in shown and "--optimizer" in shown
    assert loom.names == []  # nothing has started


def test_too_many_queries_for_an_optimizer_are_at_fault(weft: Weft) -> None:
    result = weft("plan", "--optimizer", "exhaustive")
    assert (result.exit_code, result.stderr) == (1, "Exhaustive takes at most 10 queries, not 11.\n")
    with Path("weft.toml").open("a") as file:
        file.write("\n[plan]\noptimizer = 'exhaustive'\n")
    assert weft("check").exit_code == 1


@pytest.mark.parametrize("command", ["plan", "run"])
def test_sources_are_measured_where_that_is_asked(weft: Weft, loom: FakeLoom, command: str) -> None:
    assert weft(command).exit_code == 0 and not loom.measured
    assert weft(command, "--measure").exit_code == 0 and loom.measured


def test_outside_a_project_the_next_step_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["check"])
    assert result.exit_code == 1 and "run `weft init`" in result.stderr


def test_version_and_help() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout.startswith("weft 0.")
    for command in ("init", "check", "plan", "run", "stream", "compact", "verify", "calibrate", "package"):
        assert "Example" in CliRunner().invoke(app, [command, "--help"]).stdout


def test_run_keeps_its_catalog_in_the_project(weft: Weft, loom: FakeLoom, tmp_path: Path) -> None:
    assert weft("run", "--sink", "noop").exit_code == 0
    assert loom.store == tmp_path / ".weft" and loom.closed


@pytest.mark.parametrize("text", ["there", ""])
def test_run_keeps_its_catalog_elsewhere_or_none(weft: Weft, loom: FakeLoom, text: str) -> None:
    assert weft("run", "--sink", "noop", "--store", text).exit_code == 0
    assert loom.store == (Path(text) if text else None)


def test_queries_at_fault_reach_no_catalog(weft: Weft, loom: FakeLoom) -> None:
    break_two_queries()
    assert weft("run").exit_code == 1 and loom.store is None


@pytest.mark.parametrize("command", ["check", "verify", "plan"])
def test_other_commands_keep_nothing(weft: Weft, loom: FakeLoom, command: str) -> None:
    assert weft(command).exit_code == 0 and loom.store is None


def test_plan_reads_a_catalog_that_is_there_and_makes_one_for_what_it_measures(weft: Weft, loom: FakeLoom,
                                                                               tmp_path: Path) -> None:
    (tmp_path / ".weft").mkdir()
    (tmp_path / ".weft" / "catalog.db").touch()
    weft("plan")
    assert loom.store == tmp_path / ".weft"
    weft("plan", "--measure", "--store", "new")
    assert loom.store == Path("new")


def test_incremental_runs_tell_changes_where_weft_toml_or_the_command_says(weft: Weft, loom: FakeLoom) -> None:
    assert weft("run", "--incremental").exit_code == 0 and loom.changes is None
    assert weft("run", "--incremental", "--changes", "told").exit_code == 0 and loom.changes == "told"
    Path("weft.toml").write_text(Path("weft.toml").read_text() + "\n[run]\nchanges = 'feed'\n")
    assert weft("run", "--incremental").exit_code == 0 and loom.changes == str(Path("feed").resolve())
    assert weft("run").exit_code == 0 and loom.changes is None
    refused = weft("run", "--changes", "told")
    assert refused.exit_code == 2 and "add --incremental" in refused.stderr


def test_an_incremental_run_says_what_it_read(weft: Weft) -> None:
    assert "trades: 1 of 3 files read in 0.2 s" in weft("run", "--incremental").stdout
    assert json.loads(weft("run", "--incremental", "--json").stdout)["sources"][0]["new_files"] == 1
    assert "sources" not in json.loads(weft("run", "--json").stdout)
    assert weft("run", "--incremental", "--store", "").exit_code == 2
