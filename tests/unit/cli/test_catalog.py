"""`weft catalog`: every view for people and machines, and what it says where there is nothing to show."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.unit.catalog.queries import bound, explained, identity
from weft.catalog.database import FILE, open_catalog
from weft.catalog.nodes import CatalogNode
from weft.catalog.scheduled import RecordedRun, keep_run
from weft.catalog.statistics import Origin, Sizes
from weft.catalog.store import Rows, open_store
from weft.cli.catalog import cuts
from weft.cli.main import app
from weft.cli.options import VIEWS
from weft.stages.build import build

Weft = Callable[..., Result]


@pytest.fixture
def weft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Weft:
    """Runs `weft catalog` in a project that has run three queries, one of them from another's slices."""
    (tmp_path / "weft.toml").write_text('[sources.trades]\npath = "data"\n')
    monkeypatch.chdir(tmp_path)
    fine = explained(bound("fine", keys=("symbol", "venue")), bound("large", 20, "price > 100", ("symbol", "venue")))
    coarse = explained(bound("coarse", 30))
    store = open_store(tmp_path / ".weft", identity)
    store.register([bound("coarse", text="SELECT 0").query])
    queries = [b.query for made in (fine, coarse) for b in made.plan.queries]
    nested = build(replace(fine.plan, scans=(replace(fine.plan.scans[0], derived=coarse.plan.scans),)))
    store.record("cheapest", queries, nested, lambda: fine)
    store.keep([(Rows("trades", None, "ts", ("symbol",)), Sizes(2e6, 1000, 3.6e10))], Origin.MEASURED)
    store.close()
    return lambda *args: CliRunner().invoke(app, ["catalog", *args])


def shown(result: Result) -> str:
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_queries_stand_with_their_node_and_plan(weft: Weft) -> None:
    text = shown(weft())
    assert re.search(r"coarse +trades +30 min / 1 min +2 +1 +20\d\d-", text) and text.endswith("3 queries.\n")
    assert text == shown(weft("queries"))


def test_history_is_shown_on_demand(weft: Weft) -> None:
    found = json.loads(shown(weft("queries", "--all", "--json")))["queries"]
    assert [(one["name"], one["sql"], one["removed"] is None) for one in found][:2] == [
        ("coarse", "SELECT 0", False), ("coarse", "SELECT 1", True)]
    assert found[1]["window"] == {"range": 30 * 60_000_000, "slide": 60_000_000, "start": 0, "unit": "time"}
    assert shown(weft("--all")).count("coarse") == 2


def test_nodes_are_a_lattice(weft: Weft) -> None:
    head, *lines = shown(weft("nodes")).splitlines()
    assert re.fullmatch(r"Plan 1 by cheapest, .* UTC: 2 nodes\.", head)
    assert lines == [
        "trades",
        "└─ node 1: by symbol, venue, cut every 1 min",
        "   │    where TRUE | price > 100 (by shards)",
        "   │    sum(volume)",
        "   │    read by fine, large",
        "   └─ node 2: by symbol, cut every 1 min",
        "           where TRUE | price > 100 (by shards)",
        "           sum(volume)",
        "           read by coarse",
    ]
    parent, child = json.loads(shown(weft("nodes", "--json")))["nodes"]
    assert (parent["parent"], child["parent"], child["queries"]) == (None, parent["id"], ["coarse"])


def test_expressions_stand_with_their_queries(weft: Weft) -> None:
    assert re.search(r"trades +price > 100 +price > 100 +large ", shown(weft("expressions")))
    found = {one["text"]: one for one in json.loads(shown(weft("expressions", "--json")))["expressions"]}
    assert found["venue"]["queries"] == ["fine", "large"]


def test_statistics_say_how_they_are_known(weft: Weft) -> None:
    assert re.search(r"trades +– +symbol +measured +– +2,000,000 +1,000 +10 +– ", shown(weft("statistics")))
    (one,) = json.loads(shown(weft("statistics", "--json")))["statistics"]
    assert (one["by"], one["origin"], one["rows"], one["slices"]) == (["symbol"], "measured", 2e6, None)


def test_plans_are_kept_whole(weft: Weft) -> None:
    assert re.search(r"1 +20\d\d.* UTC +cheapest +2 +1 ", shown(weft("plans")))
    (one,) = json.loads(shown(weft("plans", "--json")))["plans"]
    assert one["version"] == 1 and sorted(one["explanation"]["queries"]) == ["fine", "large"]


def test_queries_are_removed_all_or_none(weft: Weft) -> None:
    result = weft("--remove", "fine", "--remove", "larg")
    assert result.exit_code == 2 and "Did you mean 'large'?" in result.stderr
    assert "fine" in shown(weft())
    assert shown(weft("--remove", "fine", "--remove", "large")) == "Removed fine, large.\n"
    assert [one["name"] for one in json.loads(shown(weft("--json")))["queries"]] == ["coarse"]
    assert "read by fine" not in shown(weft("nodes"))


def test_a_store_that_is_named_needs_no_project(weft: Weft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "weft.toml").unlink()
    assert "coarse" in shown(weft("--store", ".weft"))


def test_an_unknown_view_is_wrong_usage(weft: Weft) -> None:
    result = weft("querys")
    assert result.exit_code == 2 and "Did you mean 'queries'?" in result.stderr


@pytest.mark.parametrize("view", VIEWS)
def test_an_empty_catalog_is_no_error(weft: Weft, view: str) -> None:
    open_store("fresh", identity).close()
    shown(weft(view, "--store", "fresh"))
    assert json.loads(shown(weft(view, "--store", "fresh", "--json")))[view] == []


@pytest.mark.parametrize(
    ("toml", "args", "sentence"),
    [
        ("", ("--store", "nowhere"), "there is none yet. Run queries with this store first."),
        ('[run]\nstore = ""\n', (), "this project keeps none. Name one with --store DIR."),
        ('[run]\nstore = "s3a://b/x"\n', (), "the catalog needs a local folder"),
    ],
    ids=["nowhere", "none", "remote"],
)
def test_where_there_is_no_catalog_it_says_so(weft: Weft, toml: str, args: tuple[str, ...], sentence: str) -> None:
    Path("weft.toml").write_text('[sources.trades]\npath = "data"\n' + toml)
    result = weft(*args)
    assert result.exit_code == 1 and sentence in result.stderr and not Path("nowhere").exists()


def test_a_catalog_of_a_newer_weft_is_told(weft: Weft) -> None:
    Path("later").mkdir()
    store = open_store("later", identity)
    store.catalog.change("PRAGMA user_version = 99")
    store.close()
    result = weft("--store", "later", "--json")
    (error,) = json.loads(result.stdout)["errors"]
    assert result.exit_code == 1 and error["kind"] == "CatalogError" and "a newer Weft wrote it" in error["reason"]
    assert str(Path("later") / FILE) in error["reason"]


def test_a_node_says_whether_it_cuts_time_or_rows() -> None:
    node = CatalogNode(1, "trades", (), "ts", (None,), ((0, 90_000_000), (1, 4)), "", None, ())
    assert cuts(replace(node, progressions=((0, 90_000_000),))) == "cut every 90 s"
    assert cuts(replace(node, unit="rows")) == "cut every 90000000 rows, every 4 rows from 1 row"


def test_runs_of_schedules(weft: Weft) -> None:
    with open_catalog(Path(".weft") / FILE) as catalog:
        for number in range(25):
            failed = {"high": "no"} if number else {}
            keep_run(catalog, RecordedRun(number * 1_000_000, 1.5, ("vwap", "high"), failed, 3, True))
    text = shown(weft("runs"))
    assert len(re.findall(r"1970-01-01 00:00:\d\d UTC +1.50 +vwap, high +high +3", text)) == 20
    data = json.loads(shown(weft("runs", "--all", "--json")))["runs"]
    assert len(data) == 25 and data[-1]["started"] == "1970-01-01T00:00:00.000Z" and data[-1]["failed"] == {}
