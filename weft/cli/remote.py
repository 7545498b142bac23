"""`weft add` and `weft drop`: ask the service that runs a project."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

from weft.cli.faults import Fault, Faulty
from weft.cli.output import CommandOutput
from weft.cli.project import STORE, load_project
from weft.cli.serve import FOLDER
from weft.errors import ProjectError
from weft.server.service_file import RunningService, find_service

# Seconds that a change may take: Spark may have to restart a stream for it.
PATIENCE = 300.0
ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}


def add(output: CommandOutput, folder: Path | None, name: str, file: Path, replace: bool, dry_run: bool) -> None:
    """Adds a query to the project that runs, or says what that would do."""
    sql, service = read_sql(file), running(folder)
    if dry_run:
        found = ask(service, "POST", "/api/check", {"name": name, "sql": sql})
        if not found["ok"]:
            raise Faulty(tuple(faults(found, str(file))))
        output.show(found, *preview_lines(name, found))
        return
    path = f"/api/queries/{quote(name, safe='')}" if replace else "/api/queries"
    found = ask(service, "PUT" if replace else "POST", path, {"name": name, "sql": sql}, str(file))
    output.show(found, f"{name} is {'replaced' if replace else 'added'}. {found['change'].get('reason', '')}".strip())


def drop(output: CommandOutput, folder: Path | None, name: str, dry_run: bool) -> None:
    """Drops a query of the project that runs, or says what that would do."""
    service = running(folder)
    if dry_run:
        found = ask(service, "POST", "/api/check", {"drop": name})
        price = found["price"]
        output.show(found, f"Dropping {name}: the plan would cost {price['cost_after']:.3g} s instead of "
                           f"{price['cost_before']:.3g} s. {found['change'].get('reason', '')}".strip())
        return
    found = ask(service, "DELETE", f"/api/queries/{quote(name, safe='')}")
    output.show(found, f"{name} is dropped. {found['change'].get('reason', '')}".strip())


def preview_lines(name: str, found: Mapping[str, Any]) -> Iterator[str]:
    """What adding a query would share, cost and need."""
    price, change = found["price"], found["change"]
    yield (f"{name} would cost {price['cost']:.3g} s beside the others, alone {price['alone']:.3g} s: the plan "
           f"{price['cost_after']:.3g} s instead of {price['cost_before']:.3g} s.")
    shared = f"{len(price['shares'])} of its {len(price['needs'])} components are there already"
    keys = ", ".join(price["keys"]) or "nothing"
    yield f"It reads {price['source']} by {keys}, windows of {price['window']}; {shared}."
    if when := (change.get("complete_from") or {}).get(name):
        yield f"Its windows are whole from {when} on."
    yield f"{change['kind']}: {change.get('reason', '')}"
    if (drift := change.get("drift")) is not None:
        more = "less" if drift < 0 else "more"
        yield f"The plan then costs {abs(drift):.0%} {more} than was expected of as many queries."


def read_sql(file: Path) -> str:
    """The text of a file."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ProjectError(f"'{file}' cannot be read: {error}.") from error


def running(folder: Path | None) -> RunningService:
    """The service of a project; raises where none says that it is there."""
    project = load_project(folder)
    found = find_service(project.folder / STORE / FOLDER)
    if found is None:
        raise ProjectError(f"no service runs {project.name}: start one with `weft serve`.")
    return found


def ask(service: RunningService, method: str, path: str, body: Mapping[str, Any] | None = None,
        file: str = "") -> dict[str, Any]:
    """What a service answers; raises what it refuses, and where it is not there."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {service.token}"}
                                                      if service.token else {})}
    request = Request(address_of(service) + path, json.dumps(body).encode() if body else None, headers, method=method)
    opener = build_opener(ProxyHandler({}), HTTPSHandler(context=trusted(service)))
    try:
        with opener.open(request, timeout=PATIENCE) as reply:
            return json.loads(reply.read())
    except HTTPError as error:
        raise Faulty(tuple(faults(json.loads(error.read()), file))) from None
    except (URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise ProjectError(f"the service at {service.address} (process {service.process}) does not answer: {reason}. "
                           "If it has ended, start it again with `weft serve`.") from error


def address_of(service: RunningService) -> str:
    """The address by which this machine reaches a service that listens on all of its addresses."""
    parts = urlsplit(service.address)
    host = ANYWHERE.get(parts.hostname or "")
    return service.address if host is None else f"{parts.scheme}://{host}:{parts.port}"


def trusted(service: RunningService) -> ssl.SSLContext | None:
    """Trust in the very certificate that the service said it has, and in no other; so its name does not matter."""
    if service.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(service.certificate)
    return context


def faults(found: Mapping[str, Any], file: str) -> Iterator[Fault]:
    """What a service says is wrong, at its place in a file."""
    for one in found["errors"]:
        yield Fault(one["reason"], one["query"], file if one["line"] else "", one["line"], one["column"], one["hint"],
                    one["kind"])
