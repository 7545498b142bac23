"""The service under load: requests at a pace while its stream runs, and what that does to the stream's triggers.

    .venv/bin/python bench/serve.py [--rate 200] [--seconds 60] [--rounds 1]

Each round measures the median trigger for a while without requests and then for as long with them; the requests are
those of the page. The figures are the ratio of the two medians, and how many requests failed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import local
from typing import Any
from urllib.parse import urlsplit

from common import DOCS, machine, save_json
from pages import fill_numbers

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.browser.served_project import Feed, Served, make_project

# What the page asks, what is asked more often more often.
PATHS = ("/api/state", "/api/live?after=999999", "/api/state", "/api/live?after=999999", "/api/queries", "/api/plan",
         "/api/plan.svg", "/metrics", "/health", "/api/decisions", "/api/queries/mean/answers?rows=50", "/api/runs")
WARM = 25.0
# Connections that stay open, as pages and scrapers have; a plain client, for it shares the cores with what it asks.
CLIENTS = 16


def main() -> None:
    """Runs the rounds and keeps what they measured."""
    options = read_options()
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder))
        feed, served = Feed(project / "incoming"), Served(project)
        try:
            time.sleep(WARM)
            rounds = [measure(served, options.rate, options.seconds) for _ in range(options.rounds)]
        finally:
            served.end()
            feed.stop()
    best = min(rounds, key=lambda one: one["ratio"])
    for one in rounds:
        print({key: round(value, 4) if isinstance(value, float) else value for key, value in one.items()})
    save_json("serve", {**machine(), "rate": options.rate, "seconds": options.seconds, "rounds": rounds, "best": best})
    fill_numbers(DOCS / "serve.md", summary(rounds))


def summary(rounds: list[dict[str, Any]]) -> str:
    """The table of the page, a row a round."""
    lines = ["| requests | a second | failed | answered in: median, 99 % | trigger without | with | ratio |",
             "|---:|---:|---:|---:|---:|---:|---:|"]
    lines += [f"| {one['requests']} | {one['a_second']:.0f} | {one['failed']} | {one['median_ms']:.1f}, "
              f"{one['p99_ms']:.0f} ms | {one['quiet_seconds']:.3f} s | {one['busy_seconds']:.3f} s | "
              f"{one['ratio']:.2f} |" for one in rounds]
    return "\n".join(lines)


def read_options() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=1)
    return parser.parse_args()


def measure(served: Served, rate: int, seconds: float) -> dict[str, Any]:
    """One round: triggers without and with requests."""
    quiet = triggers_of(served, lambda: time.sleep(seconds))
    print(f"without requests: {quiet:.3f} s a trigger", flush=True)
    replies: dict[str, Any] = {}
    busy = triggers_of(served, lambda: replies.update(ask_all(served.address, rate, seconds)))
    return {**replies, "quiet_seconds": quiet, "busy_seconds": busy, "ratio": busy / quiet}


def triggers_of(served: Served, act: Any) -> float:
    """The median trigger that had rows while something is done."""
    last = served.client.get("/api/live").json()["last"]
    act()
    found = served.client.get(f"/api/live?after={last}").json()["triggers"]
    return statistics.median(one["trigger_seconds"] for one in found if one["rows"])


def ask_all(address: str, rate: int, seconds: float) -> dict[str, Any]:
    """So many requests a second, each at its time, whether or not those before it are answered."""
    waits: list[float] = []
    failed: list[str] = []
    clients, place = local(), urlsplit(address).netloc

    def ask(number: int, due: float) -> None:
        client = clients.__dict__.setdefault("client", None) or HTTPConnection(place, timeout=10)
        clients.client = client
        try:
            client.request("GET", PATHS[number % len(PATHS)])
            reply = client.getresponse()
            reply.read()
            if reply.status != 200:
                failed.append(f"{reply.status} {PATHS[number % len(PATHS)]}")
        except (HTTPException, OSError) as error:
            failed.append(type(error).__name__)
            clients.client = None
        waits.append(time.perf_counter() - due)

    began = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        for number in range(int(rate * seconds)):
            due = began + number / rate
            time.sleep(max(due - time.perf_counter(), 0))
            pool.submit(ask, number, due)
    took = time.perf_counter() - began
    waits.sort()
    return {"requests": len(waits), "failed": len(failed), "why": sorted(set(failed)), "a_second": len(waits) / took,
            "median_ms": 1000 * waits[len(waits) // 2], "p99_ms": 1000 * waits[int(0.99 * len(waits))]}


if __name__ == "__main__":
    main()
