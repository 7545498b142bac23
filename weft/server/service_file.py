"""The service's file: where a running service of a project is and how to be let in, for its owner alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from weft.server.journal import write_whole

FILE = "serve.json"


@dataclass(frozen=True)
class RunningService:
    """A service: its address, the token that it asks for, its certificate, and its process."""

    address: str
    token: str | None = None
    certificate: str | None = None
    process: int = 0


@contextmanager
def announced(folder: Path, service: RunningService) -> Iterator[None]:
    """The file is there while the body runs; a killed service leaves it, and the next one replaces it."""
    path = folder / FILE
    write_whole(path, json.dumps(asdict(service)))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def find_service(folder: Path) -> RunningService | None:
    """The service of a project, if one says that it is there."""
    try:
        return RunningService(**json.loads((folder / FILE).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError):
        return None


def this_service(address: str, token: str | None, certificate: Path | None) -> RunningService:
    """This process as a service."""
    return RunningService(address, token, str(certificate) if certificate else None, os.getpid())
