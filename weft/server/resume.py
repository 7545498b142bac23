"""Starting the stream of a service: as its checkpoint was left, after any crash, and then as the project says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import RunError, WeftError
from weft.server.journal import Journal, read_journal, write_journal
from weft.server.query_files import QueryFiles

if TYPE_CHECKING:
    from weft.server.live import StreamChanges
    from weft.spark.stream.checkpoint import Checkpoint
    from weft.spark.stream.handle import Stream

Texts = Mapping[str, str]
Start = Callable[[Texts], "Stream"]  # starts the stream of some texts by its checkpoint


def tidy_journal(folder: Path, checkpoint: str, files: QueryFiles, texts: Texts) -> tuple[Journal, dict[str, str]]:
    """The journal of a checkpoint, and the queries that the project wants, once what was left to do of drops is done.

    Of a journal of another checkpoint only the drops count.
    """
    found = read_journal(folder)
    if found.checkpoint != checkpoint:
        found = Journal(checkpoint, dropped=found.dropped)
    wanted = found.wanted(texts)
    kept = {name: sql for name, sql in found.dropped.items() if texts.get(name) == sql and not files.is_ours(name)}
    for name in (name for name in texts if name not in wanted and name not in kept):
        files.remove(name)
    return replace(found, dropped=kept), wanted


def first_texts(journal: Journal, page: Checkpoint | None, wanted: Texts) -> dict[str, str]:
    """What the stream ran when it ended: all that is wanted where it never ran.

    Where its queries have changed, its checkpoint's page has their texts, and runs no others.
    """
    if page is None:
        return dict(wanted)
    known = {**wanted, **journal.changed(), **journal.running, **page.texts}
    for name in (name for name in page.queries if name not in known):
        raise RunError(f"the checkpoint has query '{name}', and neither the project nor the service knows its SQL: "
                       "put its file back, or start with a new checkpoint and a new sink.")
    return {name: known[name] for name in page.queries}


def resume(start: Start, folder: Path, journal: Journal, page: Checkpoint | None,
           wanted: Texts) -> tuple[Stream, Journal]:
    """The running stream, and the journal that says what it runs; `page` is that of its checkpoint."""
    texts = first_texts(journal, page, wanted)
    stream = start(texts)
    found = replace(journal, running=texts, pending=None)
    write_journal(folder, found)
    return stream, found


def reconcile(changes: StreamChanges, wanted: Texts) -> Iterator[tuple[str, str]]:
    """Bring a stream that can change to what is wanted; gives each query and what came of it."""
    if not changes.can_change:
        return
    gone, dropped = [name for name in changes.running if name not in wanted], changes.journal.dropped
    for name, sql in wanted.items():
        if changes.running.get(name) != sql:
            yield name, attempt(lambda name=name, sql=sql: changes.replace(name, sql))  # type: ignore[misc]
    for name in gone:
        yield name, attempt(lambda name=name: changes.drop(name, dropped.get(name, "")))  # type: ignore[misc]
        if name not in dropped:
            changes.forget(name)


def attempt(act: Callable[[], Mapping[str, object]]) -> str:
    """What came of a change, as a sentence."""
    try:
        return str(act().get("reason", ""))
    except WeftError as error:
        return str(error)
