"""weft.toml: every wrong key is named, with the nearest right one."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.cli.project import find_project, load_project
from weft.errors import ProjectError
from weft.io.sinks import Sink

GOOD = '[sources.trades]\npath = "data"\n'


def write(folder: Path, text: str) -> Path:
    (folder / "weft.toml").write_text(text)
    return folder


def test_a_short_file_gets_the_defaults(tmp_path: Path) -> None:
    project = load_project(write(tmp_path, GOOD))
    assert project.name == tmp_path.name
    assert project.sources[0].path == str(tmp_path / "data")
    assert (project.sources[0].time, project.sources[0].format) == (None, None)
    assert project.sink == Sink("parquet", str(tmp_path / "out"))
    assert project.files == ("queries/*.sql",)


def test_a_full_file_is_read(tmp_path: Path) -> None:
    text = """
        [project]
        name = "p"
        [spark]
        "spark.sql.session.timeZone" = "UTC"
        spark.sql.shuffle.partitions = 4
        spark.sql.ansi.enabled = true
        [sources.a]
        path = "s3a://bucket/a"
        format = "csv"
        time = "when"
        options = { header = false, sep = ";" }
        [sink]
        format = "noop"
        [queries]
        files = ["x.sql"]
        [plan]
        optimizer = "weave_share"
        max_bag_values = 5000
        [plan.algorithm]
        max = "slick_deque"
    """
    project = load_project(write(tmp_path, text))
    assert project.spark == {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.ansi.enabled": "true",
    }
    (source,) = project.sources
    assert (source.path, source.time, source.options) == ("s3a://bucket/a", "when", {"header": "false", "sep": ";"})
    assert project.sink == Sink("noop")
    assert project.max_bag_values == 5000
    assert project.files == ("x.sql",)
    assert project.algorithm == {"max": "slick_deque"}
    assert project.optimizer == "weave_share"


@pytest.mark.parametrize(("text", "every"), [
    ("", {}),
    ("every = '5 minutes'", {"*": "5 minutes"}),
    ("every = { vwap = '1 minute', '*' = '1 hour' }", {"vwap": "1 minute", "*": "1 hour"}),
])
def test_how_often_answers_must_come(tmp_path: Path, text: str, every: dict[str, str]) -> None:
    assert load_project(write(tmp_path, f"{GOOD}[queries]\n{text}")).every == every


def test_one_algorithm_for_all_functions(tmp_path: Path) -> None:
    assert load_project(write(tmp_path, GOOD)).algorithm == {}
    assert load_project(write(tmp_path, GOOD + "[plan]\nalgorithm = 'chain'")).algorithm == {"*": "chain"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[soruces.a]\npath = 'x'", "unknown key 'soruces'. Did you mean 'sources'?"),
        ("[sources.a]\npath = 'x'\ntiem = 't'", "unknown key 'sources.a.tiem'. Did you mean 'time'?"),
        ("[sources.a]\npath = 3", "'sources.a.path' must be a string"),
        ("[sources]\na = 'x'", "'sources.a' must be a table: write [sources.a]"),
        ("[sources.a]\ntime = 'ts'", "'sources.a.path' is missing"),
        ("[project]\nname = 'x'", "'sources' is missing"),
        ("[sources.'a-b']\npath = 'x'", "source 'a-b' cannot be named in SQL"),
        ("[sources.a]\npath = 'x'\nformat = 'parket'", "sources.a.format 'parket' is unknown: write parquet, csv"),
        (GOOD + "[sink]\nformat = 'xls'", "unknown format 'xls': write parquet, csv, json, orc or noop"),
        (GOOD + "[sink]\npath = 'data'", "the sink"),
        (GOOD + "[sink]\npath = '.'", "overlap"),
        (GOOD + "[sink]\npath = 'data/out'", "overlap"),
        (GOOD + "[queries]\nfiles = []", "queries.files must list"),
        (GOOD + "[queries]\nfiles = 'x.sql'", "'queries.files' must be a list"),
        (GOOD + "[queries]\nevery = ''", "queries.every: '' is not a duration"),
        (GOOD + "[queries]\nevery = 5", "'queries.every' must be a string or a table"),
        (GOOD + "[queries]\nevery = '5 mins'", "weft.toml: queries.every: '5 mins' is not a duration that Spark can "
         "read. Write a duration such as '10 minutes'"),
        (GOOD + "[queries.every]\nvwap = '0 minutes'", "queries.every.vwap: the bound of a query must be longer"),
        (GOOD + "[queries.every]\nvwap = 5", "queries.every.vwap: the bound every=5 is no text."),
        (GOOD + "[spark]\nmaster = 'local'", "'master' in [spark] is no Spark setting"),
        (GOOD + "[plan]\nalgorithm = 3", "'plan.algorithm' must be a string or a table"),
        (GOOD + "[plan]\nalgoritm = 'chain'", "unknown key 'plan.algoritm'. Did you mean 'algorithm'?"),
        (GOOD + "[plan]\nalgorithm = 'chian'", "plan.algorithm: there is no algorithm 'chian': did you mean 'chain'?"),
        (GOOD + "[plan.algorithm]\nsum = 'chain'", "cannot force 'chain' for 'sum': did you mean 'add'?"),
        (GOOD + "[plan.algorithm]\nmax = 3", "there is no algorithm '3'"),
        (GOOD + "[plan]\noptimizer = 'tri_weav'", "plan.optimizer: there is no optimizer 'tri_weav': did you mean"),
        (GOOD + "[plan]\noptimizer = 3", "'plan.optimizer' must be a string"),
        (GOOD + "[plan]\nmax_bag_values = '3'", "'plan.max_bag_values' must be a whole number"),
        (GOOD + "[plan]\nmax_bag_values = 0", "plan.max_bag_values must be a whole number above 0"),
        ("[sources.a", "weft.toml is not TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ProjectError) as raised:
        load_project(write(tmp_path, text))
    assert said in str(raised.value)


def test_the_project_is_found_from_a_folder_inside_it(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_project(inner) == tmp_path.resolve()


def test_no_project_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="run `weft init"):
        load_project(tmp_path)
