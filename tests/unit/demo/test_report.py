"""The page: everything in it, nothing from elsewhere; the estimate and the figures behind it."""

from datetime import UTC, datetime
from html.parser import HTMLParser
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from examples.demo.catalogue import shipped
from examples.demo.figures import FIGURES, Answers
from examples.demo.native import Estimate, Sample, estimate
from examples.demo.report import write_report
from examples.demo.run import Outcome
from examples.demo.summary import facts, how_estimated, shared
from weft.cli.sample_trades import FIRST, Trades, symbols
from weft.model import Query, Window

MINUTE = 60_000_000


def query(name: str, minutes: int = 10, slide: int = 1, keys: tuple[str, ...] = ("symbol",), where=None) -> Query:
    window = Window(minutes * MINUTE, slide * MINUTE)
    return Query(name, "SELECT 1", "trades", "ts", window, where, keys, (), (), None, "")


class FakeLoom:
    """As much of a loom as the report asks for."""

    queries = tuple(query(each.name) for each in shipped())

    def plan(self):
        bound = tuple(SimpleNamespace(query=each) for each in self.queries)
        scan = SimpleNamespace(head=bound[0], queries=bound, windows=(Window(10 * MINUTE, MINUTE),), components=(1, 2),
                               predicates=(None,))
        return SimpleNamespace(scans=(scan,))

    def explain(self):
        totals = {"queries": 51, "scans": 1, "trees": 1, "windows": 1, "components": 2, "components_alone": 51}
        return SimpleNamespace(svg=lambda: "<svg id='plan'></svg>", to_dict=lambda: {"totals": totals})


@pytest.fixture
def outcome(tmp_path) -> Outcome:
    times = dict.fromkeys(("trades", "session", "plan", "run", "native"), 2.0)
    write_answers(tmp_path / "answers")
    samples = (Sample(query("candles_15m", 15, 15), 1.0),)
    return Outcome(Trades(), True, FakeLoom(), shipped(), {each.name: 1000 for each in shipped()},
                   tmp_path / "answers", times, Estimate(samples, 500.0))


def write_answers(folder) -> None:
    """Ten minutes of answers for every query that a figure reads."""
    at = pa.array([int((FIRST.timestamp() + 60 * (i + 1)) * 1e6) for i in range(10)], pa.timestamp("us", tz="UTC"))
    names = ("open", "high", "low", "close", "average", "middle", "lower", "upper", "volatility", "turnover")
    columns = {name: [10.0 + i + j for i in range(10)] for j, name in enumerate(names)}
    keys = {"symbol": [str(symbols(1)[0])] * 10, "exchange": [1 + i % 8 for i in range(10)]}
    table = pa.table({"at": at, **keys, **columns})
    for name in {name for figure in FIGURES for name in figure.queries}:
        (folder / name).mkdir(parents=True)
        pq.write_table(table, folder / name / "part.parquet")


class Links(HTMLParser):
    """Collects whatever a page would fetch."""

    def __init__(self):
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.found += [tag] if tag in ("script", "link", "img", "iframe") else []
        self.found += [value for name, value in attrs if name in ("src", "href", "xlink:href")]


def test_the_page_stands_alone_and_tells_all(outcome, tmp_path):
    page = write_report(outcome, tmp_path / "report.html").read_text()
    links = Links()
    links.feed(page)
    assert links.found == [] and "@import" not in page and "url(" not in page
    assert all(each.name in page for each in shipped())
    assert page.count("<figure>") == len(FIGURES) and "id='plan'" in page
    assert "prefers-color-scheme: dark" in page and "SAMPLED" in page
    assert not (tmp_path / "report.tmp").exists()


def test_figures_stop_at_the_last_trade(outcome):
    answers = Answers(outcome.folder, str(symbols(1)[0]), FIRST.timestamp() + 240)
    assert len(answers.read("candles_1m")["at"]) == 5


def test_figures_survive_a_symbol_without_answers(outcome):
    answers = Answers(outcome.folder, "NONE", datetime(2027, 1, 1, tzinfo=UTC).timestamp())
    assert all("<svg" in figure.draw(answers) for figure in FIGURES)


def test_facts_and_sharing(outcome):
    assert facts(outcome)["times less"] == "~250 ×"
    assert shared(outcome)[0].slices == "1 per 1 min"
    assert "candles_15m (15 min / 15 min) 1.0 s" in how_estimated(outcome)


def test_the_estimate_grows_with_copies_of_rows():
    samples = [Sample(query("one", 15, 15), 2.0), Sample(query("ten", 10, 1), 5.0)]
    [alone] = {estimate(samples, [query("q", 1, 1)]).seconds}
    assert alone == pytest.approx(2.0)
    assert estimate(samples, [query("q", 31, 1)]).seconds == pytest.approx(2 + 30 * 3 / 9)


def test_the_estimate_doubts_in_favour_of_spark():
    samples = [Sample(query("one", 15, 15), 2.0), Sample(query("ten", 10, 1), 5.0)]
    assert estimate(samples, [query("q", 60, 1, where="volume > 1")]).seconds == pytest.approx(2.0)
    assert estimate(samples, [query("q", 60, 1, keys=("exchange",))]).seconds == pytest.approx(2.0)
