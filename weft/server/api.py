"""The API: JSON over HTTP. What only looks is answered at once; what needs Spark waits for the worker."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Protocol

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from weft.server.endpoint import health_response, metrics_response
from weft.server.recent import RecentReplies
from weft.server.replies import BAD, RefusedRequest
from weft.server.service import ShownPlan
from weft.server.worker import SparkWorker

MOST_ROWS, ROWS = 1000, 200
Answer = Callable[[Request], Awaitable[Response]]
WhatIf = Callable[[dict[str, Any]], dict[str, Any]]


class Asked(Protocol):
    """What the API asks of a service."""

    def state(self) -> dict[str, Any]: ...
    def health(self, now: datetime) -> dict[str, Any]: ...
    def metrics(self, now: datetime) -> bytes: ...
    def live(self, after: int, now: datetime) -> dict[str, Any]: ...
    def plan(self) -> ShownPlan: ...
    def queries(self) -> list[dict[str, Any]]: ...
    def explain(self, name: str) -> dict[str, Any]: ...
    def answers(self, name: str, count: int) -> dict[str, Any]: ...
    def dead_letters(self, count: int) -> dict[str, Any]: ...
    def decisions(self) -> dict[str, Any]: ...
    def runs(self) -> list[dict[str, Any]]: ...
    def check(self, name: str, sql: str) -> dict[str, Any]: ...
    def check_drop(self, name: str) -> dict[str, Any]: ...
    def add(self, name: str, sql: str) -> dict[str, Any]: ...
    def replace(self, name: str, sql: str) -> dict[str, Any]: ...
    def drop(self, name: str) -> dict[str, Any]: ...


def api_routes(service: Asked, worker: SparkWorker, what_if: WhatIf, recent: RecentReplies) -> list[Route]:
    """Every route of the API."""
    return [*looking_routes(service, recent), *changing_routes(service, worker, what_if, recent)]


def looking_routes(service: Asked, recent: RecentReplies) -> list[Route]:
    """The routes that only look."""
    def now() -> datetime:
        return datetime.now(UTC)

    def looking(look: Callable[[Request], Any]) -> Answer:
        """A route of what can be told at once; in a thread, as some of it lies in files."""
        def make(request: Request) -> Response:
            found = look(request)
            return found if isinstance(found, Response) else JSONResponse(found)

        async def answer(request: Request) -> Response:
            return await recent.reply(request, lambda: run_in_threadpool(make, request))

        return answer

    return [
        Route("/health", looking(lambda request: health_response(service.health(now())))),
        Route("/metrics", looking(lambda request: metrics_response(service.metrics(now())))),
        Route("/api/state", looking(lambda request: service.state())),
        Route("/api/live", looking(lambda request: service.live(number(request, "after", 0), now()))),
        Route("/api/plan", looking(lambda request: dict(service.plan().data))),
        Route("/api/plan.svg", looking(lambda request: Response(service.plan().svg, media_type="image/svg+xml"))),
        Route("/api/plan.html", looking(lambda request: plan_page(service.plan().html))),
        Route("/api/queries", looking(lambda request: {"queries": service.queries()})),
        Route("/api/queries/{name}", looking(lambda request: service.explain(request.path_params["name"]))),
        Route("/api/queries/{name}/answers", looking(lambda request: service.answers(
            request.path_params["name"], rows(request)))),
        Route("/api/dead-letters", looking(lambda request: service.dead_letters(rows(request)))),
        Route("/api/decisions", looking(lambda request: service.decisions())),
        Route("/api/runs", looking(lambda request: {"runs": service.runs()})),
    ]


def changing_routes(service: Asked, worker: SparkWorker, what_if: WhatIf, recent: RecentReplies) -> list[Route]:
    """The routes that need Spark, or much time."""
    def working(act: Callable[[Request, dict[str, Any]], dict[str, Any]], status: int = 200) -> Answer:
        async def answer(request: Request) -> Response:
            body = await read_body(request)
            try:
                return JSONResponse(await worker.do(lambda: act(request, body)), status)
            finally:
                recent.forget()

        return answer

    def check(request: Request, body: dict[str, Any]) -> dict[str, Any]:
        return service.check_drop(text(body, "drop")) if "drop" in body else service.check(
            text(body, "name", ""), text(body, "sql"))

    def named(request: Request) -> str:
        return str(request.path_params["name"])

    return [
        Route("/api/check", working(check), methods=["POST"]),
        Route("/api/queries", working(lambda request, body: service.add(text(body, "name"), text(body, "sql")), 201),
              methods=["POST"]),
        Route("/api/queries/{name}", working(lambda request, body: service.replace(named(request), text(body, "sql"))),
              methods=["PUT"]),
        Route("/api/queries/{name}", working(lambda request, body: service.drop(named(request))), methods=["DELETE"]),
        Route("/api/what-if/windows", working(lambda request, body: what_if(body)), methods=["POST"]),
    ]


def plan_page(html: str) -> Response:
    """The page of a plan, which brings its own style and no script."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
    return Response(html, media_type="text/html", headers={"Content-Security-Policy": policy})


async def read_body(request: Request) -> dict[str, Any]:
    """The JSON object of a request; an empty one where it has no body."""
    raw = await request.body()
    if not raw:
        return {}
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RefusedRequest(415, "send JSON, with the header 'Content-Type: application/json'.")
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        raise RefusedRequest(BAD, "the body is no JSON.") from None
    if not isinstance(found, dict):
        raise RefusedRequest(BAD, "the body must be a JSON object.")
    return found


def text(body: dict[str, Any], key: str, default: str | None = None) -> str:
    """A text of a body, which must be there unless there is a default."""
    found = body.get(key, default)
    if not isinstance(found, str):
        raise RefusedRequest(BAD, f"'{key}' must be a text.")
    return found


def number(request: Request, key: str, default: int) -> int:
    """A whole number of an address, not below zero."""
    found = request.query_params.get(key, str(default))
    if not (found.isascii() and found.isdigit() and len(found) <= 15):
        raise RefusedRequest(BAD, f"'{key}' must be a whole number.")
    return int(found)


def rows(request: Request) -> int:
    """How many rows are asked for."""
    return min(max(number(request, "rows", ROWS), 1), MOST_ROWS)
