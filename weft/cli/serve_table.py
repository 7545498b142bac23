"""The [serve] table of weft.toml, and what the command line puts in its place; who may be let in, and how."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from weft.cli.stream_table import PORTS
from weft.cli.toml import FILE
from weft.errors import ProjectError

if TYPE_CHECKING:
    from weft.server.listen import Certificate

PORT = 8464
RUNS = ("stream", "schedule", "both")
TOKEN = "WEFT_TOKEN"
SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class ServeTable:
    """What is said of a service; None where nothing is."""

    host: str | None = None
    port: int | None = None
    run: str | None = None
    token_file: str | None = None
    certificate: str | None = None
    key: str | None = None


def build_serve(folder: Path, table: Mapping[str, Any]) -> ServeTable:
    """The table with its paths made absolute."""
    found = ServeTable(**table)
    if found.port is not None and (isinstance(found.port, bool) or found.port not in PORTS):
        raise ProjectError(f"{FILE}: serve.port must be a whole number from 0 to 65535.")
    if found.run is not None and found.run not in RUNS:
        raise ProjectError(f"{FILE}: serve.run must be {', '.join(RUNS[:-1])} or {RUNS[-1]}.")
    token, certificate, key = (str(folder / path) if path else None
                               for path in (found.token_file, found.certificate, found.key))
    return replace(found, token_file=token, certificate=certificate, key=key)


def chosen_serve(table: ServeTable, asked: ServeTable) -> ServeTable:
    """The project's table, and in it whatever the command line says."""
    if asked.run is not None and asked.run not in RUNS:
        raise typer.BadParameter(f"write {', '.join(RUNS[:-1])} or {RUNS[-1]}.", param_hint="--run")
    said = {item.name: value for item in fields(asked) if (value := getattr(asked, item.name)) is not None}
    return replace(table, **said)


def read_token(table: ServeTable) -> str | None:
    """The token of a file, or of the environment, which unlike the command line nobody else sees; None where there is
    none."""
    if table.token_file is None:
        found = os.environ.get(TOKEN)
        return None if found is None else checked_token(found.strip(), TOKEN)
    try:
        return checked_token(Path(table.token_file).read_text(encoding="utf-8").strip(), table.token_file)
    except (OSError, UnicodeDecodeError) as error:
        raise ProjectError(f"the token in '{table.token_file}' cannot be read: {error}.") from error


def checked_token(token: str, place: str) -> str:
    """A token that is not guessed in a while."""
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise ProjectError(f"the token of {place} must have at least {SHORTEST_TOKEN} plain signs: write one with "
                           "python3 -c 'import secrets; print(secrets.token_urlsafe(32))' > FILE.")
    return token


def read_certificate(table: ServeTable) -> Certificate | None:
    """The files of the certificate, both or none."""
    from weft.server.listen import Certificate

    if bool(table.certificate) != bool(table.key):
        raise typer.BadParameter("a certificate and its key belong together: give both.",
                                 param_hint="--certificate / --key")
    return Certificate(Path(table.certificate), Path(table.key)) if table.certificate and table.key else None


def require_safe(host: str, token: str | None, certificate: Certificate | None) -> None:
    """Raises where other machines could reach the service without a token, or read it on its way."""
    from weft.server.guard import is_loopback

    if is_loopback(host):
        return
    missing = [what for what, there in (("a token (--token-file)", token),
                                        ("a certificate (--certificate and --key)", certificate)) if not there]
    if missing:
        raise ProjectError(f"other machines can reach {host}, so the service needs {' and '.join(missing)}. "
                           "Without, it serves this machine alone: leave out --host.")
