"""The endpoint that tells monitoring of a stream or a runner: /metrics for Prometheus, /health for who restarts it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from weft.server.listen import HOST, Limits, listening
from weft.server.prometheus import METRICS, Metric, render
from weft.spark.stream.progress import ScanMetrics, format_time, watermark_lag

TEXT = "text/plain; version=0.0.4; charset=utf-8"
Read = Callable[[], Any]
Health = Callable[[Any, datetime], dict[str, Any]]


def serving(port: int, read: Read, host: str = HOST, limits: Limits = Limits(), metrics: Sequence[Metric] = METRICS,
            healthy: Health | None = None) -> AbstractContextManager[str]:
    """Serves what `read` gives until the body is done, as of a stream unless other metrics are given; the body gets the
    address. Port 0 is any that is free."""
    return listening(monitoring(read, metrics, healthy or health), port, host, limits, option="--metrics-port")


def monitoring(read: Read, metrics: Sequence[Metric], healthy: Health) -> Starlette:
    """The app of the two pages."""
    # Functions without `async` run in threads: reading waits for nobody, but rendering many queries takes a moment.
    def show_metrics(request: Request) -> Response:
        return metrics_response(render(read(), datetime.now(UTC), metrics))

    def show_health(request: Request) -> Response:
        return health_response(healthy(read(), datetime.now(UTC)))

    def lost(request: Request, error: Exception) -> Response:
        return PlainTextResponse("There is /metrics and /health.\n", 404)

    return Starlette(routes=[Route("/metrics", show_metrics), Route("/health", show_health)],
                     exception_handlers={404: lost})


def metrics_response(text: bytes) -> Response:
    """Metrics in the type that Prometheus asks for."""
    return Response(text, headers={"Content-Type": TEXT})


def health_response(found: dict[str, Any]) -> Response:
    """Whether all is well, as the status says too."""
    return JSONResponse(found, 200 if found["ok"] else 503)


def health(readings: Sequence[ScanMetrics], now: datetime) -> dict[str, Any]:
    """Whether every scan runs, and how far each is."""
    return {"ok": bool(readings) and all(one.active for one in readings),
            "scans": [scan_health(one, now) for one in readings]}


def scan_health(reading: ScanMetrics, now: datetime) -> dict[str, Any]:
    """How far one scan is."""
    last = reading.last
    watermark = last.watermark if last else None
    return {"scan": reading.scan, "active": reading.active, "triggers": reading.totals.triggers,
            "batch": last.batch if last else None, "at": format_time(last.at if last else None),
            "watermark": format_time(watermark), "lag_seconds": watermark_lag(watermark, now)}
