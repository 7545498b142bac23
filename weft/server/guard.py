"""The guard: who may ask. A token where one is set, and no page of another site in any case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from weft.server.replies import refusal

# What holds no figures: the page asks for the token, and who restarts things learns whether all is well.
OPEN = ("/", "/health", "/favicon.ico")
STATIC = "/static/"
READS = ("GET", "HEAD")
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
SAFETY: Mapping[str, str] = {
    "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY", "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True)
class Access:
    """What a request must bring: the token, if one is set, and where the service is on this machine alone, a name of
    this machine: a page of another site whose name was turned to it is thereby told from our own."""

    token: str | None = None
    loopback: bool = True


class Guarded:
    """An app that only those reach who may; what is refused is not read."""

    def __init__(self, app: ASGIApp, access: Access):
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        wrong = self.wrong(scope["method"], scope["path"], headers)
        app = self.app if wrong is None else refusal(*wrong)

        async def send_safely(message: dict) -> None:
            if message["type"] == "http.response.start":
                said = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *((name.lower().encode(), value.encode())
                                      for name, value in SAFETY.items() if name.lower().encode() not in said)]
            await send(message)

        await app(scope, receive, send_safely)  # type: ignore[arg-type]

    def wrong(self, method: str, path: str, headers: Headers) -> tuple[int, str, dict[str, str]] | None:
        """Why a request is refused, if it is."""
        if self.access.loopback and not is_this_machine(headers.get("host", "")):
            return 421, "this service answers to names of this machine only, such as localhost.", {}
        if method not in READS and not is_own_page(headers):
            return 403, "pages of other sites may not change anything here.", {"Connection": "close"}
        if not is_open(method, path) and not self._knows(headers):
            return 401, "a token is needed: send the header 'Authorization: Bearer TOKEN'.", {
                "WWW-Authenticate": "Bearer", "Connection": "close"}
        return None

    def _knows(self, headers: Headers) -> bool:
        """Whether a request brings the token; how long that takes does not tell how much of it is right."""
        if self.access.token is None:
            return True
        kind, _, said = headers.get("authorization", "").partition(" ")
        return compare_digest(said.strip().encode(), self.access.token.encode()) and kind.lower() == "bearer"


def is_open(method: str, path: str) -> bool:
    """Whether everybody may see this."""
    return method in READS and (path in OPEN or path.startswith(STATIC))


def is_own_page(headers: Headers) -> bool:
    """Whether a change comes from no browser, or from our own page."""
    origin = headers.get("origin")
    return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none") and (
        origin is None or urlsplit(origin).netloc == headers.get("host"))


def is_this_machine(host: str) -> bool:
    """Whether a name can only be this machine's."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return name == "localhost" or is_loopback(name)


def is_loopback(address: str) -> bool:
    """Whether an address reaches this machine alone."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
