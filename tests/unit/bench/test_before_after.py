"""Two versions of a bench in one run: which files they run from, and what is compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[3] / "bench"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    import before_after

    return before_after


@pytest.mark.parametrize(("name", "figures"), [("many_windows", {"a) 1 windows", "c) one pass", "d) 20 windows"}),
                                               ("streaming", {"slices alone", "10 windows", "range 600 s"})])
def test_the_figures_are_read_off_the_raw_results(script, name, figures):
    found = script.FIGURES[name](json.loads((BENCH / "results" / f"{name}.json").read_text()))
    assert figures <= {*found} and all(value > 0 for value in found.values())


def test_the_best_of_all_runs_is_compared(script):
    before = script.best([{"a": 3.0, "b": 1.0}, {"a": 2.0}])
    assert before == {"a": 2.0, "b": 1.0}
    sheet = script.compare("streaming", "HEAD", before, {"a": 1.0, "c": 5.0})
    assert [list(row) for row in sheet.rows] == [["a", "2.00", "1.00", "0.50"]]
    assert sheet.notes == ("Only one of them has b, c.",)


def test_versions_take_turns_at_being_first(script):
    assert list(script.order(2)) == ["before", "after", "after", "before"]
    assert script.split_arguments(["streaming", "HEAD", "--", "--rows", "5"]) == (["streaming", "HEAD"],
                                                                                  ["--rows", "5"])


def test_a_version_runs_its_own_script_with_its_own_package(script, tmp_path):
    """And what it leaves is read, not what was kept before."""
    (tmp_path / "bench" / "results" / "tmp").mkdir(parents=True)
    (tmp_path / "weft").mkdir()
    (tmp_path / "weft" / "__init__.py").write_text("SECONDS = 7.0")
    (tmp_path / "bench" / "results" / "streaming.json").write_text(results(1.0))
    (tmp_path / "bench" / "streaming.py").write_text(
        "import json, sys, weft\nfrom pathlib import Path\n"
        "found = [{'run': sys.argv[1], 'best': weft.SECONDS}]\n"
        "path = Path('bench/results/streaming.json')\n"
        "kept = json.loads(path.read_text()) if path.exists() else {}\n"
        "path.write_text(json.dumps({**kept, 'ranges': {'found': found}}))\n")
    assert script.run_bench(tmp_path, "streaming", ["10 windows"]) == {"10 windows": 7.0}


def results(seconds: float) -> str:
    """Raw results of one run."""
    return json.dumps({"windows": {"found": [{"run": "old", "best": seconds}]}})
