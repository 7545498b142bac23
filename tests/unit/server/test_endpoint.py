"""The endpoint for monitoring: its text line by line, and its pages over HTTP on loopback."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from select import select
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from weft.errors import RunError
from weft.server.endpoint import health, serving
from weft.server.listen import HOST, Limits, open_socket
from weft.server.prometheus import METRICS, render
from weft.spark.stream.progress import ScanMetrics, Totals, TriggerMetrics

NOW = datetime(2024, 5, 1, 12, 10, tzinfo=UTC)
NASTY = 'a"b\\c\nd'
LAST = TriggerMetrics("scan-0", NOW, batch=3, watermark=datetime(2024, 5, 1, 12, tzinfo=UTC), trigger_seconds=0.25,
                      state_rows=15, state_bytes=1 << 40)
RUNNING = ScanMetrics("scan-0", True, Totals(2, 1000, {"vwap": 80, NASTY: 0}, 6, 4), LAST, (LAST,))
NEW = ScanMetrics("scan-1", True, Totals(answers={"high": 0}))

SAMPLE = re.compile(r'([a-z_]+)\{([a-z]+)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"\} (\S+)')
UNESCAPE = {"\\n": "\n", "\\\\": "\\", '\\"': '"'}


def samples(text: str) -> dict[tuple[str, str], float]:
    """Every sample of a text by metric and label, read by the format's grammar."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            parts = SAMPLE.fullmatch(line)
            assert parts, line
            label = re.sub(r'\\[n\\"]', lambda m: UNESCAPE[m[0]], parts[3])
            found[parts[1], label] = float(parts[4])
    return found


def test_every_metric_is_there() -> None:
    assert samples(render((RUNNING, NEW), NOW).decode()) == {
        ("weft_up", "scan-0"): 1, ("weft_up", "scan-1"): 1,
        ("weft_rows_total", "scan-0"): 1000, ("weft_rows_total", "scan-1"): 0,
        ("weft_answers_total", "vwap"): 80, ("weft_answers_total", NASTY): 0, ("weft_answers_total", "high"): 0,
        ("weft_late_rows_total", "scan-0"): 6, ("weft_late_rows_total", "scan-1"): 0,
        ("weft_shed_rows_total", "scan-0"): 0, ("weft_shed_rows_total", "scan-1"): 0,
        ("weft_dead_letters_total", "scan-0"): 4, ("weft_dead_letters_total", "scan-1"): 0,
        ("weft_watermark_seconds", "scan-0"): 1714564800, ("weft_lag_seconds", "scan-0"): 600,
        ("weft_trigger_seconds", "scan-0"): 0.25, ("weft_state_rows", "scan-0"): 15,
        ("weft_state_bytes", "scan-0"): 1 << 40,
    }


def test_a_query_of_two_scans_has_one_sample() -> None:
    text = render((RUNNING, ScanMetrics("scan-1", True, Totals(answers={"vwap": 5}))), NOW).decode()
    assert samples(text)["weft_answers_total", "vwap"] == 85 and text.count('query="vwap"') == 1


def test_help_and_type_come_before_the_samples() -> None:
    lines = render((RUNNING,), NOW).decode().splitlines()
    for metric in METRICS:
        places = [i for i, line in enumerate(lines) if re.match(rf"(# \w+ )?{metric.name}\b", line)]
        first, second = lines[places[0]], lines[places[1]]
        assert first == f"# HELP {metric.name} {metric.help}" and second == f"# TYPE {metric.name} {metric.kind}"
        assert places == list(range(places[0], places[0] + len(places)))
    assert render((), NOW).endswith(b"\n")


def test_health_says_whether_all_runs() -> None:
    data = health((RUNNING, NEW), NOW)
    assert data["ok"] is True
    assert data["scans"][0] == {"scan": "scan-0", "active": True, "triggers": 2, "batch": 3,
                                "at": "2024-05-01T12:10:00.000Z", "watermark": "2024-05-01T12:00:00.000Z",
                                "lag_seconds": 600.0}
    assert data["scans"][1]["watermark"] is None
    ended = ScanMetrics("scan-1", False, Totals())
    assert health((RUNNING, ended), NOW)["ok"] is False and health((), NOW)["ok"] is False


def test_pages_over_http() -> None:
    readings: list[ScanMetrics] = []

    def read() -> Sequence[ScanMetrics]:
        return tuple(readings)

    with serving(0, read) as address:
        assert address.startswith("http://127.0.0.1:")
        with pytest.raises(HTTPError) as early:
            urlopen(f"{address}/health", timeout=5)
        assert early.value.code == 503 and json.loads(early.value.read())["ok"] is False
        readings.append(RUNNING)
        with urlopen(f"{address}/metrics?x=1", timeout=5) as answer:
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            assert samples(answer.read().decode())["weft_rows_total", "scan-0"] == 1000
        with urlopen(Request(f"{address}/metrics", method="HEAD"), timeout=5) as answer:
            assert answer.read() == b"" and int(answer.headers["Content-Length"]) > 100
        with pytest.raises(HTTPError) as lost:
            urlopen(f"{address}/", timeout=5)
        assert lost.value.code == 404 and b"/metrics" in lost.value.read()
        with pytest.raises(RunError, match="Name another with --metrics-port"), serving(int(address[17:]), read):
            pass
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", int(address[17:])), timeout=1).close()


def connect(address: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=5)


def sends_until_hung_up(client: socket.socket, limit: float) -> float:
    """How long the server lets a client send a byte every 20 ms."""
    began = time.monotonic()
    client.settimeout(0.02)
    while time.monotonic() - began < limit:
        try:
            client.sendall(b"G")
            if client.recv(1) == b"":
                break
        except TimeoutError:
            continue
        except OSError:  # the server has hung up
            break
    return time.monotonic() - began


def test_a_client_that_sends_byte_by_byte_has_a_deadline() -> None:
    with serving(0, tuple, limits=Limits(seconds=0.3)) as address, connect(address) as slow:
        assert 0.2 < sends_until_hung_up(slow, 5) < 3
        with pytest.raises(HTTPError):  # others are served on
            urlopen(f"{address}/health", timeout=5)


def test_a_client_that_reads_nothing_has_a_deadline() -> None:
    many = tuple(ScanMetrics(f"scan-{i}", True, Totals(answers={"q" * 1000 + str(i): 0})) for i in range(20_000))
    with serving(0, lambda: many, limits=Limits(seconds=0.3)) as address, connect(address) as slow:
        slow.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        select([slow], [], [], 60)  # making it takes as long as it takes
        time.sleep(1.5)
        slow.settimeout(5)
        received = 0
        try:
            while part := slow.recv(1 << 20):
                received += len(part)
        except OSError:
            pass
        assert received < len(render(many, NOW))


def test_too_many_clients_push_out_the_oldest() -> None:
    with serving(0, lambda: (RUNNING,), limits=Limits(seconds=60, clients=3)) as address:
        idle = [connect(address) for _ in range(3)]
        with urlopen(f"{address}/health", timeout=5) as answer:
            assert answer.status == 200
        assert idle[0].recv(1) == b""
        for client in idle[1:]:
            client.sendall(b"GET /health HTTP/1.0\r\n\r\n")
            assert client.recv(8) == b"HTTP/1.1"
        for client in idle:
            client.close()


def test_the_end_leaves_no_client_waiting() -> None:
    with serving(0, tuple) as address:
        idle = connect(address)
        with pytest.raises(HTTPError):
            urlopen(f"{address}/health", timeout=5)
    with idle:
        assert idle.recv(1) == b""


def test_an_answer_does_not_wait_until_its_head_is_confirmed() -> None:
    with open_socket(HOST, 0, "--port") as place, socket.create_connection(place.getsockname()):
        accepted, _ = place.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
