"""The made-up trades: the same every time, of the right types, kept when they are there, never half there."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from weft.cli import sample_trades as module
from weft.cli.sample_trades import FIRST_MICROS, HOUR, MARKER, SCHEMA, Trades, is_made, make, symbols, table

SMALL = Trades(rows=20_000, keys=50, hours=2)


def test_the_same_parameters_give_the_same_rows():
    assert table(SMALL).equals(table(SMALL))
    assert not table(SMALL).equals(table(Trades(rows=20_000, keys=50, hours=2, seed=8)))


def test_columns_have_their_types_and_no_nulls():
    rows = table(SMALL)
    assert rows.schema.equals(SCHEMA)
    assert rows.schema.field("ts").type == pa.timestamp("us", tz="UTC")
    assert all(column.null_count == 0 for column in rows.columns)


@pytest.mark.parametrize("market", [True, False])
def test_values_look_like_trades(market):
    rows = table(Trades(rows=50_000, keys=50, hours=2, market=market))
    ts = rows["ts"].cast("int64").to_numpy()
    assert (np.diff(ts) > 0).all()
    assert ts[0] >= FIRST_MICROS and ts[-1] < FIRST_MICROS + 2 * HOUR + 1000
    price = rows["price"].to_numpy()
    assert (price > 0).all() and np.allclose(price, price.round(2), atol=0, rtol=0)
    volume = rows["volume"].to_numpy()
    assert volume.min() >= 1 and volume.max() > 50 * np.median(volume)
    assert set(rows["exchange"].to_pylist()) == set(range(1, 9))
    assert len(set(rows["symbol"].to_pylist())) == 50


def test_a_market_is_skewed_and_a_bench_is_not():
    def most(market):
        counts = table(Trades(rows=50_000, keys=50, hours=2, market=market))["symbol"].value_counts()
        return max(each["counts"].as_py() for each in counts)

    assert most(True) > 2 * 1000 > most(False) * 1.5


def test_prices_of_a_symbol_walk_in_small_steps():
    rows = table(Trades(rows=50_000, keys=20, hours=2))
    price = rows.filter(pa.compute.equal(rows["symbol"], str(symbols(1)[0])))["price"].to_numpy()
    assert np.median(np.abs(np.diff(np.log(price)))) < 0.005


def test_names_of_symbols_are_all_different():
    assert all(len(set(symbols(count))) == count for count in (26**3, 100_000))


def test_files_hold_the_table_and_are_kept(tmp_path):
    path = make(tmp_path / "trades", SMALL, files=3)
    assert len(list(path.glob("*.parquet"))) == 3
    assert pq.read_table(path).equals(table(SMALL))
    before = {file: file.stat().st_mtime_ns for file in path.iterdir()}
    make(path, SMALL, files=3)
    assert {file: file.stat().st_mtime_ns for file in path.iterdir()} == before


def test_other_parameters_replace_the_files(tmp_path):
    path = make(tmp_path / "trades", SMALL)
    other = Trades(rows=1000, keys=5, hours=1)
    make(path, other)
    assert pq.read_table(path).num_rows == 1000 and is_made(path, other)
    assert [each.name for each in tmp_path.iterdir()] == ["trades"]


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(FileExistsError, match="holds no made-up trades"):
        make(tmp_path, SMALL)
    assert (tmp_path / "mine.txt").read_text() == "precious"


def test_a_failure_leaves_nothing_behind(tmp_path, monkeypatch):
    path = make(tmp_path / "trades", SMALL)
    monkeypatch.setattr(module.pq, "write_table", fail)
    with pytest.raises(OSError, match="disk full"):
        make(path, Trades(rows=10, keys=2, hours=1))
    assert is_made(path, SMALL) and (path / MARKER).exists()
    assert [each.name for each in tmp_path.iterdir()] == ["trades"]


def fail(*_args, **_options):
    raise OSError("disk full")


@pytest.mark.parametrize("wrong", [{"rows": 0}, {"keys": 0}, {"hours": 0}, {"keys": 26**4 + 1}])
def test_impossible_parameters_are_refused(wrong):
    with pytest.raises(ValueError):
        Trades(**wrong)


def test_one_row_is_enough():
    assert table(Trades(rows=1, keys=1, hours=1)).num_rows == 1
