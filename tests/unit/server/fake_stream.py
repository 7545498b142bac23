"""Streams and drafts that keep their queries in memory: a checkpoint that outlives its process, and kills anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from weft.errors import RunError


@dataclass(frozen=True)
class LiveChange:
    """What a change of a running stream did."""

    kind: str
    queries: tuple[str, ...]
    complete_from: Mapping[str, datetime | None] = field(default_factory=dict)
    kept: tuple[str, ...] = ("a", "b")
    added: tuple[str, ...] = ()
    freed: tuple[str, ...] = ()
    reason: str = "It takes effect with the next trigger."


class FixedStream:
    """A stream whose queries do not change; `checkpoint` are the texts that its state is of, and outlives it."""

    failure = ""

    def __init__(self, checkpoint: dict[str, str]):
        self.checkpoint = checkpoint
        self.decisions: list[Any] = []
        self.scans: tuple[Any, ...] = ()

    def explain(self) -> Any:
        return Explained(self.checkpoint)


class LiveStream(FixedStream):
    """A stream whose queries come and go; `breaks` says whether it fails in the next change, "before" or "after" its
    checkpoint has it."""

    breaks = ""

    def __init__(self, checkpoint: dict[str, str]):
        super().__init__(checkpoint)
        self.every: dict[str, str | None] = {}

    def add(self, name: str, sql: str, every: str | None = None) -> LiveChange:
        if "refuse" in sql:
            raise RunError("this checkpoint cannot take it.")
        if "crash" in sql:
            raise ValueError("nobody foresaw this.")
        self.every[name] = every
        return self._change({**self.checkpoint, name: sql}, "free")

    def replace(self, name: str, sql: str, every: str | None = None) -> LiveChange:
        return self.add(name, sql, every)

    def drop(self, name: str) -> LiveChange:
        return self._change({each: sql for each, sql in self.checkpoint.items() if each != name}, "restart")

    def _change(self, texts: Mapping[str, str], kind: str) -> LiveChange:
        if self.breaks != "before":
            self.checkpoint.clear()
            self.checkpoint.update(texts)
        if self.breaks:
            self.failure = "the stream could not go on with other queries: the disk is full."
            raise RunError("the disk is full.")
        return LiveChange(kind, tuple(self.checkpoint))

    def preview(self, add: Mapping[str, str], drop: list[str]) -> LiveChange:
        return LiveChange("free", tuple({**self.checkpoint, **add}))


def start_of(checkpoint: dict[str, str], kind: type[FixedStream] = LiveStream) -> Any:
    """What starts a stream, and like a real one refuses texts that its checkpoint is not of."""
    def start(texts: Mapping[str, str]) -> FixedStream:
        if checkpoint and dict(texts) != checkpoint:
            raise RunError("the checkpoint was made for other queries.")
        checkpoint.update(texts)
        return kind(checkpoint)

    return start


class Explained:
    """A plan that says no more than its queries."""

    def __init__(self, texts: Mapping[str, str]):
        self._texts = dict(texts)

    def to_dict(self) -> dict[str, Any]:
        return {"queries": {name: {"cost": 1.0, "alone": 2.0, "saved": 1.0} for name in self._texts}, "scans": []}

    def svg(self) -> str:
        return "<svg/>"

    def to_html(self) -> str:
        return "<!doctype html>"


class FakeDrafts:
    """Drafts that take every text but those with the word 'wrong'."""

    def __init__(self, texts: Mapping[str, str]):
        self.texts = dict(texts)

    def add(self, name: str, sql: str) -> None:
        if "wrong" in sql:
            from weft.errors import CheckError, Place

            raise CheckError(name, "there is no column.", place=Place(1, 8), hint="Did you mean price?")
        self.texts[name] = sql

    def drop(self, name: str) -> None:
        del self.texts[name]

    @contextmanager
    def with_query(self, name: str, sql: str) -> Iterator[None]:
        before = dict(self.texts)
        self.add(name, sql)
        self.texts = before
        yield

    def scheduled(self) -> tuple[str, ...]:
        return ()

    def explain(self) -> Explained:
        return Explained(self.texts)

    def price(self, name: str, sql: str) -> dict[str, Any]:
        with self.with_query(name, sql):
            return {"cost": 1.0}

    def price_drop(self, name: str) -> dict[str, Any]:
        return {"cost_after": 1.0}
