"""Every setting of the session that changes what SQL means: followed, with Spark's own answers, or refused by name."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from tests.harness.differential import differences
from weft import Loom, SettingError
from weft.spark.session.session import temporary_settings
from weft.spark.session.settings import HONOURED, REFUSED, ZONE

WINDOW = "window({}, '1 hour', '20 minutes')"
# Around the hour that New York leaves out on 10 March 2024.
FROM = 1_710_050_400
ROWS = f"""
    SELECT timestamp_micros(({FROM} + id * 97) * 1000000L) AS ts,
        TIMESTAMP_NTZ'2024-03-10 01:00:00' + make_dt_interval(0, 0, 0, id * 97) AS nt,
        CAST(timestamp_micros(({FROM} + id * 97) * 1000000L) AS STRING) AS st,
        CAST(DATE'2024-03-09' + CAST(id % 3 AS INT) AS DATE) AS d,
        CAST(id % 3 AS STRING) AS k, CAST(id AS INT) AS x,
        CAST(id / 7 AS DECIMAL(38, 10)) AS big, CAST(id / 7 AS DECIMAL(12, 2)) AS m,
        array(id, NULL, id % 2) AS tags, CAST(if(id % 4 = 0, NULL, 'é' || id) AS STRING) AS s
    FROM range(90)"""
TWINS = ("CAST(x % 5 AS STRING) AS K", "x * 7 AS X")
OTHER = {"true": "false", "false": "true", "CORRECTED": "LEGACY", "EXCEPTION": "LAST_WIN"}


@contextmanager
def make_loom(spark, queries, *more):
    """A loom over the rows, with more columns if some are given, made in the session as it is now."""
    loom = Loom(spark)
    loom.source("t", spark.sql(ROWS).selectExpr("*", *more), time="ts")
    for i, text in enumerate(queries):
        loom.query(f"q{i}", text)
    yield loom
    loom.close()


def ask(spark, settings, queries, *more):
    """What Weft answers otherwise than Spark in a session of these settings."""
    with temporary_settings(spark, settings), make_loom(spark, queries, *more) as loom:
        return differences(loom)


def test_names_that_differ_in_case_are_two_columns(spark, interpreted):
    by = WINDOW.format("ts")
    assert ask(spark, {"spark.sql.caseSensitive": "true"}, [
        f"SELECT k, window.end, sum(x) AS a, sum(X) AS A FROM t GROUP BY k, {by}",
        f"SELECT K, window.end, count(*) FILTER (WHERE x > 30) AS n, max(X) FROM t WHERE X < 500 GROUP BY K, {by}",
        f"SELECT k, K, max(x) AS a, min(X) AS A FROM t WHERE x < 80 GROUP BY k, K, {by} HAVING a > 1 AND A > 7",
        "SELECT K, window.end, sum(X) AS s FROM t [ROWS 10 SLIDE 5] GROUP BY K",
    ], *TWINS) == []  # fmt: skip


@pytest.mark.parametrize("zone", ["America/New_York", "Australia/Lord_Howe"])
def test_timestamps_that_are_local_times(spark, interpreted, zone):
    settings = {"spark.sql.timestampType": "TIMESTAMP_NTZ", "spark.sql.session.timeZone": zone}
    times = [f"SELECT window, count(*) AS n, sum(x) AS s FROM t GROUP BY {WINDOW.format(at)}"
             for at in ("ts", "nt", "st", "d", "CAST(st AS TIMESTAMP)", "to_timestamp(st)")]
    assert ask(spark, settings, [
        *times,
        f"SELECT k, max(CAST(st AS TIMESTAMP)) AS a, percentile_approx(ts, 0.5) AS b, "
        f"max(ts) > TIMESTAMP'2024-03-10 04:00:00' AS c "
        f"FROM t WHERE ts > TIMESTAMP'2024-03-10 01:30:00' GROUP BY k, {WINDOW.format('ts')}",
        "SELECT window.start, window.end, sum(x) AS s FROM t [ROWS 10 SLIDE 5]",
    ]) == []  # fmt: skip


FUNCTIONS = (
    "k, sum(m) * 5 AS a, avg(m) AS b, avg(big) * max(m) AS c, sum(big) / count(*) AS d, stddev(x) AS e, max(m) * 0.5",
    "k, max(size(CAST(NULL AS ARRAY<INT>))) AS a, max(CAST(tags AS STRING)) AS b, max(upper(s)) AS c, "
    "max(to_json(named_struct('s', s))) AS e, max(base64(encode(s, 'UTF-8'))) AS f",
    "k, count_if(exists(tags, t -> t > 80)) AS a, count_if(d > '2024-03-10') AS b, max(split(s, '')[1]) AS c, "
    "max(array_insert(tags, -1, 5)[2]) AS e, max(map(x, 1, x, 2)[x]) AS f, max(to_date('2024-03-10', 'yyyy-MM-dd'))",
)


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_functions_and_types_are_those_of_the_session(spark, interpreted, ansi):
    """All settings that Weft follows are set to the other value at once."""
    own = ("ansi.enabled", "caseSensitive", "session.timeZone", "timestampType")
    settings = {setting.name: OTHER[setting.default] for setting in HONOURED if setting.short not in own}
    settings |= {"spark.sql.ansi.enabled": ansi, "spark.sql.session.timeZone": "Europe/Berlin"}
    texts = [f"SELECT {outputs} FROM t GROUP BY k, {WINDOW.format('ts')}" for outputs in FUNCTIONS]
    assert ask(spark, settings, texts) == []


@pytest.mark.parametrize("setting", REFUSED, ids=lambda setting: setting.short)
def test_what_weft_does_not_run_under_is_refused_by_name(spark, setting):
    with make_loom(spark, []) as loom, temporary_settings(spark, {setting.name: OTHER[setting.default]}):
        with pytest.raises(SettingError, match=f"'{setting.name}' is {OTHER[setting.default]}"):
            loom.query("q", f"SELECT k, count(*) FROM t GROUP BY k, {WINDOW.format('ts')}")
        with pytest.raises(SettingError, match=f"Set it to {setting.default}"):
            Loom(spark).source("t", spark.range(1))


@pytest.mark.parametrize("setting", HONOURED, ids=lambda setting: setting.short)
def test_a_setting_that_changes_under_the_queries_is_refused(spark, setting):
    values = {"session.timeZone": "Asia/Tokyo", "timestampType": "TIMESTAMP_NTZ"}
    value = values.get(setting.short) or OTHER[setting.default]
    known, new = (f"SELECT k, {what} AS a FROM t GROUP BY k, {WINDOW.format('ts')}" for what in ("max(x)", "min(x)"))
    with make_loom(spark, [known]) as loom:
        results = loom.run()
        with temporary_settings(spark, {setting.name: value}):
            uses = (lambda: results["q0"], loom.plan, loom.run, loom.verify, lambda: loom.query("new", new))
            for use in uses[:1] if setting.name == ZONE else uses:
                with pytest.raises(SettingError, match=f"'{setting.name}' was .* is {value} now"):
                    use()
        assert loom.plan().queries
