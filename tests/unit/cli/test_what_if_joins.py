"""`weft what-if joins`: golden plans, spellings, pictures, what is said of dropping, a sentence for the rest."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from tests.harness.pages import ROOT
from weft.cli.join_streams import read_predicates, read_streams
from weft.cli.main import app
from weft.cost.joins.problem import InputStream
from weft.errors import PlanError
from weft.optimize.join_order import EVERY_JOIN_OPTIMIZER

Ask = Callable[..., Result]
STREAMS = ("--streams", "A:10:10,B:70:10,C:20:10")
EXAMPLE = (*STREAMS, "--selectivity", "AB=0.5,BC=0.2")
SHORT = ("--streams", "A:10:10rows,B:70:10rows,C:20:10rows", "--selectivity", "AB=0.5,BC=0.2", "--windows", "time")


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Asks in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(app, ["what-if", "joins", *args])


def data_of(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def said(result: Result) -> str:
    return " ".join(result.stderr.replace("│", " ").split())


def by_order(data: dict[str, Any], key: str) -> dict[str, Any]:
    return {plan["order"]: plan[key] for plan in data["plans"]}


def test_example_1_by_value(ask: Ask) -> None:
    data = data_of(ask(*EXAMPLE, "--windows", "rows", "--join-ms", "14", "--json"))
    assert by_order(data, "cost") == {"ACB": 400, "BCA": 280, "ABC": 500}
    assert by_order(data, "output") == pytest.approx({"ACB": 701.3, "BCA": 304.8, "ABC": 285.7}, abs=0.05)
    assert by_order(data, "utilisation") == pytest.approx({"ACB": 5.6, "BCA": 3.92, "ABC": 7.0})
    assert set(by_order(data, "utilisation_after_drop").values()) == {1.0}
    assert data["best"] == "ACB" and data["full_output"] == 1000 and data["chosen"] == data["plans"][0]
    assert data["chosen"]["drop"] == pytest.approx({"A": 0.013, "B": 1.0, "C": 0.0}, abs=5e-4)
    assert data["chosen"]["streams"] == ["A", "C", "B"]


@pytest.mark.parametrize(("ms", "best", "used"), [("0.5", "BCA", (0.25, 0.14, 0.20)), ("3", "BCA", (1.5, 0.84, 1.2))])
def test_a_feasible_plan_drops_nothing(ask: Ask, ms: str, best: str, used: tuple[float, ...]) -> None:
    data = data_of(ask(*EXAMPLE, "--join-ms", ms, "--json"))
    assert by_order(data, "utilisation") == pytest.approx(dict(zip(("ABC", "BCA", "ACB"), used, strict=True)))
    assert data["best"] == best and data["chosen"]["feasible"] and data["chosen"]["output"] == 1000
    assert data["chosen"]["drop"] == {"A": 1, "B": 1, "C": 1} and data["notes"] == []
    shown = ask(*EXAMPLE, "--join-ms", ms).stdout
    assert "drop box" not in shown and "keeps up with" in shown


def test_people_read_a_table_a_tree_and_sentences(ask: Ask) -> None:
    shown = ask(*EXAMPLE, "--join-ms", "14").stdout
    assert re.search(r"ACB +400 +560 % +A 1.3 %, C nothing +701.3", shown)
    assert "⋈ ACB  701.3 rows/s" in shown and "│  └─ C  20 rows/s, window 10 rows  [drop box keeps nothing]" in shown
    assert "ACB needs 560 % of the machine. With drop boxes it gives 701.3 of 1,000 rows/s (70.1 %)." in shown
    assert "BCA, the order that takes least, would give only 304.8 rows/s." in shown


def test_stale_rows_are_told_where_windows_count_rows(ask: Ask) -> None:
    """Slip 5 of the paper: in the text, in the page and for machines, and only where something is dropped."""
    asked = (*EXAMPLE, "--join-ms", "14")
    shown = ask(*asked, "--html", "plan.html").stdout
    sentence = "they hold rows that are long out of date"
    assert sentence in shown and "The window of C never changes at all." in shown
    assert sentence in Path("plan.html").read_text()
    assert any(sentence in note for note in data_of(ask(*asked, "--json"))["notes"])
    assert sentence not in ask(*EXAMPLE, "--join-ms", "3").stdout
    assert sentence not in ask(*SHORT, "--join-ms", "14").stdout


@pytest.mark.parametrize(("ms", "rows", "keys"), [("5", (361.7, 680, 375.6), 714.3), ("14", (89.1, 169.9, 46.4), 255.1),
                                                  ("100", (1.1, 1.9, 0.6), 35.7)])
def test_windows_of_time_by_value(ask: Ask, ms: str, rows: tuple[float, ...], keys: float) -> None:
    data = data_of(ask(*SHORT, "--join-ms", ms, "--json"))
    assert by_order(data, "output") == pytest.approx(dict(zip(("ABC", "BCA", "ACB"), rows, strict=True)), abs=0.06)
    by_key = data_of(ask(*SHORT, "--join-ms", ms, "--shed", "keys", "--json"))
    assert by_key["best"] == "BCA" and by_key["chosen"]["output"] == pytest.approx(keys, abs=0.05)
    assert len(set(by_key["chosen"]["drop"].values())) == 1
    assert f"--shed keys gives {keys:g}" in ask(*SHORT, "--join-ms", ms).stdout
    assert "needs one key that all joins are on" in ask(*SHORT, "--join-ms", ms, "--shed", "keys").stdout


def test_pictures_are_written(ask: Ask) -> None:
    shown = ask(*EXAMPLE, "--join-ms", "14", "--svg", "a.svg", "--html", "a.html").stdout
    assert "Wrote a.svg" in shown and "Wrote a.html" in shown
    assert Path("a.svg").read_text().startswith("<svg") and "keeps nothing" in Path("a.svg").read_text()
    assert Path("a.svg").read_text() in Path("a.html").read_text()
    result = ask(*EXAMPLE, "--join-ms", "14", "--svg", "nowhere/a.svg")
    assert result.exit_code == 1 and "'nowhere/a.svg' cannot be written: No such file" in result.stderr


def test_long_names_have_a_dash(ask: Ask) -> None:
    asked = ("-s", "orders:10:10,trades:70:10,users:20:10", "-f", "orders-trades=0.5,trades-users=0.2")
    data = data_of(ask(*asked, "--join-ms", "14", "--json"))
    assert data["best"] == "orders-users-trades" and data["chosen"]["streams"] == ["orders", "users", "trades"]
    assert data["chosen"]["output"] == pytest.approx(701.3, abs=0.05)
    assert "⋈ orders-users-trades  701.3 rows/s" in ask(*asked, "--join-ms", "14").stdout


def test_cross_products_may_be_left_out(ask: Ask) -> None:
    data = data_of(ask(*EXAMPLE, "--join-ms", "14", "--no-cross-products", "--json"))
    assert sorted(by_order(data, "cost")) == ["ABC", "BCA"] and data["best"] == "BCA"


@pytest.mark.parametrize("optimizer", [o.name for o in EVERY_JOIN_OPTIMIZER])
def test_every_optimizer_finds_example_1(ask: Ask, optimizer: str) -> None:
    data = data_of(ask(*EXAMPLE, "--join-ms", "14", "-o", optimizer, "--json"))
    assert data["optimizer"] == optimizer and data["best"] == "ACB" and len(data["plans"]) == 3
    assert data["chosen"]["output"] == pytest.approx(701.3, abs=0.05)


def test_more_cores_are_a_faster_machine(ask: Ask) -> None:
    one, four = (data_of(ask(*EXAMPLE, "--join-ms", ms, "--cores", cores, "--json"))
                 for ms, cores in (("3.5", "1"), ("14", "4")))
    assert one["plans"] == four["plans"]


def test_many_streams(ask: Ask) -> None:
    names = [f"s{n}" for n in range(8)]
    pairs = ",".join(f"{a}-{b}=0.01" for a, b in pairwise(names))
    asked = ("-s", ",".join(f"{n}:10:10" for n in names), "-f", pairs, "--join-ms", "1")
    result = ask(*asked)
    assert result.exit_code == 2 and "at most 7 streams, not 8: use dynamic_programming." in said(result)
    shown = ask(*asked, "-o", "dynamic_programming")
    assert shown.exit_code == 0 and "too many to list" in shown.stdout
    assert len(data_of(ask(*asked, "-o", "dynamic_programming", "--json"))["plans"]) == 1
    six = ("-s", ",".join(f"{n}:10:10" for n in names[:6]), "-f", ",".join(pairs.split(",")[:5]), "--join-ms", "1")
    assert "and 348 more orders" in ask(*six).stdout and len(data_of(ask(*six, "--json"))["plans"]) == 360


SPELLINGS = {
    ("A:10:10", "rows"): InputStream("A", 10, 10),
    (" a_1 : 1e3 : 2.5 ", "rows"): InputStream("a_1", 1000, 2.5),
    ("A:10:5rows", "rows"): InputStream("A", 10, 5),
    ("A:10:5", "time"): InputStream("A", 10, 5),
    ("A:10:5m", "time"): InputStream("A", 10, 300),
    ("A:10:250 ms", "time"): InputStream("A", 10, 0.25),
    ("A:.5:1H", "time"): InputStream("A", 0.5, 3600),
    ("A:20:5rows", "time"): InputStream("A", 20, 0.25),
    ("été:10:1", "time"): InputStream("été", 10, 1),
}


@pytest.mark.parametrize("text", SPELLINGS, ids=" ".join)
def test_spellings_of_streams(text: tuple[str, str]) -> None:
    assert read_streams([text[0], "Z:1:1"], text[1])[0] == SPELLINGS[text]


def test_spellings_of_pairs() -> None:
    streams = read_streams(["A:1:1,B:1:1,AB:1:1,b:1:1"], "rows")
    found = read_predicates(["AB=0.5, A-AB = 1 ,Bb=1e-3"], streams)
    assert [(p.left, p.right, p.selectivity) for p in found] == [("A", "B", 0.5), ("A", "AB", 1), ("B", "b", 0.001)]
    with pytest.raises(PlanError, match="'ABB' can be read as A-BB and as AB-B: write the dash"):
        read_predicates(["ABB=1"], read_streams(["A:1:1,BB:1:1,AB:1:1,B:1:1"], "rows"))


WRONG = {
    "no streams": (["--join-ms", "1"], "--streams", "Missing option"),
    "only commas": (["-s", " , ", "--join-ms", "1"], "--streams", "at least two streams"),
    "one stream": (["-s", "A:1:1", "--join-ms", "1"], "--streams", "write each as name:rate:window"),
    "garbage": (["-s", "banana", "--join-ms", "1"], "--streams", "'banana' is no stream: write name:rate:window"),
    "no window": (["-s", "A:10", "--join-ms", "1"], "--streams", "'A:10' is no stream"),
    "bad name": (["-s", "1A:1:1,B:1:1", "--join-ms", "1"], "--streams", "'1A' in '1A:1:1' is no name"),
    "bad rate": (["-s", "A:fast:1,B:1:1", "--join-ms", "1"], "--streams", "'fast' in 'A:fast:1' is no number"),
    "zero rate": (["-s", "A:0:1,B:1:1", "--join-ms", "1"], "--streams", "rate of stream 'A' must be positive, not 0"),
    "negative": (["-s", "A:-5:1,B:1:1", "--join-ms", "1"], "--streams", "must be positive, not -5"),
    "nan": (["-s", "A:nan:1,B:1:1", "--join-ms", "1"], "--streams", "is no number"),
    "huge": (["-s", "A:1e999:1,B:1:1", "--join-ms", "1"], "--streams", "must be positive, not inf"),
    "bad window": (["-s", "A:1:long,B:1:1", "--join-ms", "1"], "--streams", "'long' in 'A:1:long' is no window"),
    "zero window": (["-s", "A:1:0,B:1:1", "--join-ms", "1"], "--streams", "the window of stream 'A' must be positive"),
    "time in rows": (["-s", "A:1:5m,B:1:1", "--join-ms", "1"], "--streams", "write one, or give --windows time"),
    "no unit": (["-s", "A:1:5mins,B:1:1", "--windows", "time", "--join-ms", "1"], "--streams", "Did you mean 'min'?"),
    "twice": (["-s", "A:1:1,B:1:1,A:2:2", "--join-ms", "1"], "--streams", "stream 'A' is there twice"),
    "no selectivity": ([*STREAMS, "--join-ms", "1"], "--selectivity", "nothing joins 'B' with 'A': give the"),
    "island": ([*STREAMS, "-f", "AB=0.5", "--join-ms", "1"], "--selectivity", "nothing joins 'C' with 'A'"),
    "unknown": ([*STREAMS, "-f", "AB=0.5,BD=0.2", "--join-ms", "1"], "--selectivity", "no pair of the streams A, B, C"),
    "unknown long": ([*STREAMS, "-f", "A-trades=0.5", "--join-ms", "1"], "--selectivity", "no stream 'trades'"),
    "no pair": ([*STREAMS, "-f", "0.5", "--join-ms", "1"], "--selectivity", "'0.5' is no selectivity: write AB=0.5"),
    "no value": ([*STREAMS, "-f", "AB=", "--join-ms", "1"], "--selectivity", "'' in 'AB=' is no number"),
    "zero": ([*STREAMS, "-f", "AB=0,BC=0.2", "--join-ms", "1"], "--selectivity", "above 0 and at most 1, not 0"),
    "too much": ([*STREAMS, "-f", "AB=1.5,BC=0.2", "--join-ms", "1"], "--selectivity", "at most 1, not 1.5"),
    "pair twice": ([*STREAMS, "-f", "AB=1,BA=0.2,BC=1", "--join-ms", "1"], "--selectivity", "is there twice"),
    "itself": ([*STREAMS, "-f", "AA=1", "--join-ms", "1"], "--selectivity", "joins 'A' with itself"),
    "no time": ([*EXAMPLE], "--join-ms", "give the milliseconds"),
    "no time at all": ([*EXAMPLE, "--join-ms", "0"], "--join-ms", "this must be positive, not 0"),
    "no cores": ([*EXAMPLE, "--join-ms", "1", "--cores", "0"], "--cores", "this must be positive, not 0"),
    "windows": ([*EXAMPLE, "--join-ms", "1", "--windows", "row"], "--windows", "Did you mean 'rows'?"),
    "shed": ([*EXAMPLE, "--join-ms", "1", "--shed", "kees"], "--shed", "Did you mean 'keys'?"),
    "keys of rows": ([*EXAMPLE, "--join-ms", "1", "--shed", "keys"], "--shed", "Use windows of time, or drop by rows"),
    "optimizer": ([*EXAMPLE, "--join-ms", "1", "-o", "exhaustiv"], "--optimizer", "did you mean 'exhaustive'?"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage_gets_a_sentence(ask: Ask, case: str) -> None:
    args, option, sentence = WRONG[case]
    result = ask(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in said(result) and option in said(result)


def test_numbers_beyond_doubles_get_a_sentence(ask: Ask) -> None:
    result = ask("-s", "A:1e200:1e200,B:1e200:1e200", "-f", "AB=1", "--join-ms", "1")
    assert result.exit_code == 2 and "give smaller numbers" in said(result) and "--streams" in said(result)


@given(st.text(max_size=14))
def test_whatever_is_written_is_a_stream_or_refused(text: str) -> None:
    for read in (lambda: read_streams([text, "Z:1:1"], "time"),
                 lambda: read_predicates([text], read_streams(["A:1:1,B:1:1"], "rows"))):
        try:
            assert read()
        except PlanError as error:
            assert str(error).endswith((".", "?"))


def test_help_has_examples_that_run(ask: Ask) -> None:
    runner = CliRunner(env={**os.environ, "COLUMNS": "300", "TERM": "dumb"})
    shown = runner.invoke(app, ["what-if", "joins", "--help"]).stdout
    examples = re.findall(r"weft (what-if joins [^;│]+)", shown.partition("Examples:")[2])
    assert len(examples) == 3 and all(o.name in shown for o in EVERY_JOIN_OPTIMIZER)
    for example in examples:
        assert CliRunner().invoke(app, example.split()).exit_code == 0, example
    assert "joins" in runner.invoke(app, ["what-if", "--help"]).stdout


def test_the_page_shows_the_example(ask: Ask) -> None:
    page = (ROOT / "docs" / "joins.md").read_text()
    assert all(f"`{o.name}`" in page for o in EVERY_JOIN_OPTIMIZER)
    lines = [line.rstrip() for line in ask(*EXAMPLE, "--join-ms", "14").stdout.splitlines() if line.strip()]
    assert all(line in page for line in lines)
    shown = re.search(r"```json\n(.*?)```", page, re.DOTALL)
    want = data_of(ask(*EXAMPLE, "--join-ms", "14", "--json"))
    assert shown and json.loads(shown[1]) == {"plans": want["plans"], "best": want["best"]}


def test_spark_is_not_even_imported(tmp_path: Path) -> None:
    code = ("import sys; from typer.testing import CliRunner; from weft.cli.main import app; "
            f"shown = CliRunner().invoke(app, ['what-if', 'joins', *{(*EXAMPLE, '--join-ms', '14')!r}]); "
            "print(shown.exit_code, 'pyspark' in sys.modules)")
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert shown.stdout.strip() == "0 False"
