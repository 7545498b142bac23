"""The app: the API and the page, behind the guard and the bounds."""

from __future__ import annotations

import sys
import traceback
from importlib.resources import files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from weft.errors import WeftError
from weft.server.api import Asked, WhatIf, api_routes
from weft.server.bounds import Bounded, RequestBounds
from weft.server.guard import Access, Guarded
from weft.server.recent import FRESH, RecentReplies
from weft.server.replies import error_reply, refusal
from weft.server.worker import SparkWorker
from weft.stages.picture import STYLE

KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def service_app(service: Asked, worker: SparkWorker, what_if: WhatIf, access: Access = Access(),
                bounds: RequestBounds = RequestBounds(), fresh: float = FRESH) -> ASGIApp:
    """Everything that is served; for so many seconds all who ask for the same get the same."""
    routes = [*api_routes(service, worker, what_if, RecentReplies(fresh)), *page_routes()]
    app = Starlette(routes=routes, exception_handlers={
        WeftError: tell_error, HTTPException: tell_status, ClientDisconnect: tell_nobody, Exception: tell_failure})
    return Bounded(Guarded(app, access), bounds)


def page_routes() -> list[Route]:
    """The page and its parts, read once."""
    folder = files("weft.server") / "page"
    parts = {item.name: item.read_bytes() for item in folder.iterdir() if item.name.rpartition(".")[2] in KINDS}
    parts["picture.css"] = STYLE.encode()
    return [Route("/", page_part("index.html", parts.pop("index.html"))),
            *(Route(f"/static/{name}", page_part(name, data)) for name, data in sorted(parts.items()))]


def page_part(name: str, data: bytes):  # type: ignore[no-untyped-def]
    """A route of a part of the page."""
    async def answer(request: Request) -> Response:
        return Response(data, media_type=KINDS[name.rpartition(".")[2]])

    return answer


async def tell_error(request: Request, error: Exception) -> JSONResponse:
    """What is wrong, as a sentence."""
    assert isinstance(error, WeftError)
    return error_reply(error)


async def tell_status(request: Request, error: Exception) -> JSONResponse:
    """What HTTP has a status for: a path that is not there, a method that it has not."""
    assert isinstance(error, HTTPException)
    known = {404: "there is nothing at this address: docs/serve.md lists what there is.",
             405: "this address does not take this method: docs/serve.md lists what there is."}
    return refusal(error.status_code, known.get(error.status_code, str(error.detail)))


async def tell_nobody(request: Request, error: Exception) -> JSONResponse:
    """Nothing to somebody who has gone: stderr is for what can be mended."""
    return refusal(400, "the request was not sent to its end.")


async def tell_failure(request: Request, error: Exception) -> JSONResponse:
    """What nobody foresaw: the client learns that it failed, and stderr why."""
    traceback.print_exception(error, file=sys.stderr)
    return refusal(500, "this failed, and the service's stderr says why.")
