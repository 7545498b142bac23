"""What a stream that goes on must find as it was, beside its queries; no Spark is started here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from weft.errors import RunError, StreamWarning
from weft.io.kafka import Kafka, KafkaSink
from weft.io.sinks import Sink, stream_sink
from weft.io.sources import Files
from weft.io.sources.open import describe_origin as source_place
from weft.io.sources.rate import Rate
from weft.io.sources.socket import Socket
from weft.spark.session.settings import SETTINGS
from weft.spark.stream.surroundings import StreamEnvironment

ANSI = "spark.sql.ansi.enabled"
FIRST = StreamEnvironment({"t": "json at /in", "frame": None}, "parquet in /out", {ANSI: "true"}, "UTC")
OTHERS = {
    "source": (replace(FIRST, sources={"t": "json at /other"}), r"source 't' as json at /in, and now .* /other"),
    "sink": (replace(FIRST, sink="parquet in /other"), r"go to parquet in /out, and would now go to parquet in /other"),
    "no sink": (replace(FIRST, sink=None), r"would now go to a sink that keeps none"),
    "setting": (replace(FIRST, settings={ANSI: "false"}), rf"made with {ANSI} true, and in this session it is false"),
    "usual before": (replace(FIRST, settings={ANSI: "true", "spark.sql.mapKeyDedupPolicy": "last_win"}),
                     r"made with spark.sql.mapKeyDedupPolicy exception, and in this session it is last_win"),
    "legacy": (replace(FIRST, settings={ANSI: "true", "spark.sql.legacy.x": "1"}), r"spark.sql.legacy.x not set, .* 1"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_surroundings_are_refused_with_what_differs(case: str) -> None:
    now, said = OTHERS[case]
    with pytest.raises(RunError, match=f"{said}.*as it was, or give this start a checkpoint and a sink of its own"):
        FIRST.require_same("/checkpoint", now, ["timestamp"])


def test_the_same_go_on_and_so_do_places_that_nobody_knows() -> None:
    FIRST.require_same("/checkpoint", FIRST, ["timestamp"])
    FIRST.require_same("/checkpoint", replace(FIRST, sources={"t": None, "frame": "json at /x"}), ["date"])
    replace(FIRST, sink=None).require_same("/checkpoint", FIRST, ["timestamp"])


def test_a_setting_that_an_older_checkpoint_does_not_hold_counts_as_not_set() -> None:
    usual = {setting.name: setting.default.lower() for setting in SETTINGS if setting.pinned}
    FIRST.require_same("/checkpoint", replace(FIRST, settings=usual), ["timestamp"])
    replace(FIRST, settings=usual).require_same("/checkpoint", FIRST, ["timestamp"])
    shouted = {name: value.upper() for name, value in usual.items()}
    FIRST.require_same("/checkpoint", replace(FIRST, settings=shouted), ["timestamp"])


def test_the_page_of_settings_has_the_list() -> None:
    page = (Path(__file__).parents[3] / "docs/settings.md").read_text().replace("`||`", "||").replace("`\\|\\|`", "||")
    followed, refused = page.partition("## Refused")[::2]
    for setting in SETTINGS:
        default = setting.default or "the JVM's zone"
        row = f"| `{setting.name}` | {default} | {setting.changes} |"
        assert row in (followed if setting.followed else refused), row
    assert page.count("\n| `spark.sql.") == len(SETTINGS)


def test_another_zone_is_refused_where_it_moves_event_times_and_else_said() -> None:
    now = replace(FIRST, zone="Asia/Tokyo")
    for kind in ("string", "date"):
        with pytest.raises(RunError, match=r"time zone UTC, and this session's is Asia/Tokyo: event times"):
            FIRST.require_same("/checkpoint", now, ["timestamp", kind])
    with pytest.warns(StreamWarning, match=r"Asia/Tokyo: from here on expressions such as date_trunc"):
        FIRST.require_same("/checkpoint", now, ["timestamp", "timestamp_ntz"])


def test_places_are_told_without_servers_and_passwords() -> None:
    kafka = Kafka("broker:9092", "trades", "x int", options={"kafka.sasl.password": "secret"})
    sources = (Files("/in", "json", ()), kafka, Socket("a:1", "x int"), Rate(), object())
    assert [source_place(data) for data in sources] == ["json at /in", "kafka trades", "socket a:1", None, None]
    sinks = [Sink("csv", "/out"), Sink("noop"), Sink("memory"), KafkaSink("broker:9092", "out"), print]
    assert [stream_sink(sink).location() for sink in sinks] == ["csv in /out", None, None, "the topic out", None]
