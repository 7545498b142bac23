"""The API over a service that answers from memory: every route, every refusal, and that refusals cost nothing."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from httpx import Client

from tests.unit.server.fake_service import SVG, FakeService
from weft.cli.what_if_api import answer_windows
from weft.server.app import service_app
from weft.server.bounds import RequestBounds
from weft.server.guard import Access
from weft.server.listen import Limits, listening
from weft.server.worker import BusyError, SparkWorker

TOKEN = "a-token-of-many-signs"


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def worker() -> Iterator[SparkWorker]:
    made = SparkWorker()
    yield made
    made.close()


@contextmanager
def client_of(service: FakeService, worker: SparkWorker, **options: Any) -> Iterator[Client]:
    with listening(service_app(service, worker, answer_windows, **options), 0) as address, \
            Client(base_url=address, trust_env=False) as client:
        yield client


@pytest.fixture
def client(service: FakeService, worker: SparkWorker) -> Iterator[Client]:
    with client_of(service, worker) as made:
        yield made


@pytest.mark.parametrize("path", ["/health", "/metrics", "/api/state", "/api/live?after=3", "/api/plan", "/api/queries",
                                  "/api/queries/vwap", "/api/queries/vwap/answers?rows=5", "/api/dead-letters",
                                  "/api/decisions", "/api/runs", "/api/plan.svg", "/api/plan.html", "/",
                                  "/static/page.js", "/static/style.css", "/static/picture.css", "/static/icon.svg"])
def test_every_page_is_there_and_safe(client: Client, path: str) -> None:
    reply = client.get(path)
    assert reply.status_code == 200 and reply.content
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert reply.headers["x-content-type-options"] == "nosniff" and reply.headers["cache-control"] == "no-store"
    assert client.head(path).status_code == 200


def test_the_page_runs_no_script_but_its_own(client: Client) -> None:
    policy = client.get("/").headers["content-security-policy"]
    assert "script-src 'self';" in policy and "unsafe" not in policy
    text = client.get("/").text
    assert "<script>" not in text and "onclick=" not in text and "style=" not in text
    assert "http" not in text.replace("http://www.w3.org", "")
    assert client.get("/api/plan.svg").text == SVG
    assert client.get("/api/plan.svg").headers["content-type"].startswith("image/svg+xml")


def test_changes_reach_the_service(client: Client, service: FakeService) -> None:
    made = client.post("/api/queries", json={"name": "high", "sql": "SELECT 2"})
    assert made.status_code == 201 and made.json()["change"] == {"kind": "free"}
    assert client.put("/api/queries/high", json={"sql": "SELECT 3"}).status_code == 200
    assert client.delete("/api/queries/high").status_code == 200
    assert client.post("/api/check", json={"name": "x", "sql": "SELECT 4"}).json()["ok"]
    assert client.post("/api/check", json={"drop": "high"}).json()["ok"]
    assert service.asked == [("add", "high", "SELECT 2"), ("replace", "high", "SELECT 3"), ("drop", "high"),
                             ("check", "x", "SELECT 4"), ("check_drop", "high")]


def test_an_error_has_its_line_and_column(client: Client) -> None:
    reply = client.post("/api/queries", json={"name": "bad", "sql": "\nSELEC 1"})
    assert reply.status_code == 422
    assert not reply.json()["ok"] and reply.json()["errors"] == [
        {"reason": "this is no SQL.", "query": "bad", "line": 2, "column": 7, "hint": "Write SELECT.",
         "kind": "ParseError"}]
    assert client.post("/api/queries", json={"name": "vwap", "sql": "SELECT 1"}).status_code == 409


@pytest.mark.parametrize(("body", "kind", "status"), [
    (b"no json", "application/json", 400), (b"[1]", "application/json", 400), (b"{}", "application/json", 400),
    (b'{"name": 1, "sql": "x"}', "application/json", 400), (b'{"name": "a"}', "application/json", 400),
    (b'{"name": "a", "sql": "b"}', "text/plain", 415), (b"\xff\xfe", "application/json", 400),
    (b"[" * 100_000, "application/json", 400), (b"", "application/json", 400),
])
def test_malformed_bodies_are_refused(client: Client, service: FakeService, body: bytes, kind: str,
                                      status: int) -> None:
    reply = client.post("/api/queries", content=body, headers={"Content-Type": kind})
    assert reply.status_code == status and not reply.json()["ok"] and not service.asked


@pytest.mark.parametrize(("method", "path", "status"), [
    ("GET", "/api/nothing", 404), ("POST", "/api/state", 405), ("GET", "/api/queries/none", 404),
    ("GET", "/api/live?after=-1", 400), ("GET", "/api/live?after=" + "9" * 30, 400),
    ("GET", "/static/../service.py", 404), ("GET", "/static/%2e%2e/service.py", 404),
])
def test_strange_addresses_are_refused(client: Client, method: str, path: str, status: int) -> None:
    reply = client.request(method, path)
    assert reply.status_code == status and reply.json()["errors"][0]["reason"]


def test_what_is_too_large_is_not_read(service: FakeService, worker: SparkWorker) -> None:
    with client_of(service, worker, bounds=RequestBounds(bytes=1024)) as client:
        body = {"name": "a", "sql": "x" * 2000}
        assert client.post("/api/queries", json=body).status_code == 413
        parts = (b"x" * 400 for _ in range(10))
        chunked = client.post("/api/queries", content=parts, headers={"Content-Type": "application/json"})
        assert chunked.status_code == 413 and "1 KiB" in chunked.text and not service.asked


def test_a_client_that_asks_too_often_is_told_so(service: FakeService, worker: SparkWorker) -> None:
    with client_of(service, worker, bounds=RequestBounds(rate=0.001, burst=3), fresh=0.0) as client:
        replies = [client.get("/api/state") for _ in range(5)]
    assert [one.status_code for one in replies] == [200, 200, 200, 429, 429]
    assert replies[-1].headers["retry-after"] == "1" and len(service.asked) == 3


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"},
                                    {"Authorization": f"Bearer {TOKEN}x"}, {"Authorization": TOKEN}])
def test_without_the_token_nobody_learns_anything(service: FakeService, worker: SparkWorker,
                                                  header: dict[str, str]) -> None:
    with client_of(service, worker, access=Access(TOKEN)) as client:
        for method, path in (("GET", "/api/state"), ("GET", "/metrics"), ("POST", "/api/queries"),
                             ("DELETE", "/api/queries/vwap"), ("GET", "/api/plan.svg"), ("GET", "/api/nothing")):
            reply = client.request(method, path, headers=header)
            assert reply.status_code == 401 and reply.headers["www-authenticate"] == "Bearer"
        assert not service.asked
        assert client.get("/").status_code == client.get("/static/page.js").status_code == 200
        assert client.get("/api/state", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


@pytest.mark.parametrize(("headers", "status"), [
    ({"Host": "evil.example"}, 421), ({"Host": "127.0.0.1.evil.example:80"}, 421), ({"Host": "["}, 421),
    ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Sec-Fetch-Site": "cross-site"}, 403),
    ({"Host": "localhost:1", "Origin": "http://localhost:2"}, 403), ({"Host": "127.0.0.1:80"}, 200),
    ({"Host": "[::1]:80"}, 200), ({"Host": "localhost:1", "Origin": "http://localhost:1"}, 200),
])
def test_pages_of_other_sites_change_nothing(client: Client, service: FakeService, headers: dict[str, str],
                                             status: int) -> None:
    assert client.delete("/api/queries/vwap", headers=headers).status_code == status
    assert bool(service.asked) == (status == 200)


def test_windows_are_planned_without_files(client: Client) -> None:
    found = client.post("/api/what-if/windows", json={"windows": "16/4,10/5", "rate": 1.2}).json()
    assert len(found["queries"]) == 2
    for body in ({"windows": ["@/etc/passwd"], "rate": 1}, {"windows": 3}, {"windows": "16/4", "rate": "1"},
                 {"windows": ",".join(["16/4"] * 300), "rate": 1}, {"windows": "nonsense", "rate": 1}, {"file": "x"}):
        reply = client.post("/api/what-if/windows", json=body)
        assert reply.status_code == 400 and "root:" not in reply.text


def test_what_waits_for_spark_is_bounded() -> None:
    worker, gate = SparkWorker(queue=2), threading.Event()

    async def ask() -> list[Any]:
        waiting = [asyncio.ensure_future(worker.do(gate.wait)) for _ in range(2)]
        await asyncio.sleep(0.05)
        with pytest.raises(BusyError):
            await worker.do(lambda: True)
        gate.set()
        return await asyncio.gather(*waiting, return_exceptions=True)

    assert asyncio.run(ask()) == [True, True]
    assert asyncio.run(worker.do(lambda: 5)) == 5
    worker.close()


def test_a_look_waits_for_nobody(service: FakeService, worker: SparkWorker) -> None:
    gate = threading.Event()
    service.check = lambda name, sql: {"ok": gate.wait(10)}  # type: ignore[method-assign]
    with listening(service_app(service, worker, answer_windows), 0) as address, connect(address) as busy:
        body = b'{"sql": "x"}'
        busy.sendall(b"POST /api/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        began = time.monotonic()
        assert ask(address, b"GET /api/state HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").startswith(
            b"HTTP/1.1 200")
        assert time.monotonic() - began < 5
        gate.set()
        assert busy.recv(100).startswith(b"HTTP/1.1 200")


def connect(address: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=10)


def ask(address: str, data: bytes) -> bytes:
    """What comes back until the server hangs up."""
    with connect(address) as client:
        client.sendall(data)
        found = b""
        try:
            while part := client.recv(65536):
                found += part
        except ConnectionResetError:
            pass
        return found


@pytest.mark.parametrize(("data", "begins"), [
    (b"nonsense\r\n\r\n", b"HTTP/1.1 400"),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 300_000 + b"\r\n\r\n", b"HTTP/1.1 400"),
    (b"POST /api/queries HTTP/1.1\r\nHost: localhost\r\nContent-Length: nonsense\r\n\r\n", b"HTTP/1.1 400"),
    (b"POST /api/queries HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n", b"HTTP/1.1 413"),
    # What is promised and never sent: the server hangs up when the time is over.
    (b"POST /api/queries HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{",
     b""),
    (b"GET / HTTP/1.1\r\nHost: loc", b""),
])
def test_bad_and_slow_clients_cost_nothing(service: FakeService, worker: SparkWorker, data: bytes,
                                           begins: bytes) -> None:
    app = service_app(service, worker, answer_windows)
    with listening(app, 0, limits=Limits(seconds=0.5)) as address:
        found = ask(address, data)
    assert found.startswith(begins) and (begins or not found) and not service.asked
