"""What decides the answers of a stream beside its queries: where sources lie, where answers go, how Spark is set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from warnings import warn

from pyspark.sql import SparkSession

from weft.errors import RunError, StreamWarning
from weft.io.answer_sink import AnswerSink
from weft.io.arrivals import StreamInput
from weft.spark.session.settings import ZONE, default_of, read_pinned

AS_IT_WAS = "as it was, or give this start a checkpoint and a sink of its own."


@dataclass(frozen=True)
class StreamEnvironment:
    """Where each source lies and where answers go, None where nobody knows or nothing is kept; settings and the zone.
    """

    sources: Mapping[str, str | None]
    sink: str | None
    settings: Mapping[str, str]
    zone: str

    def require_same(self, path: str, now: StreamEnvironment, times: Sequence[str]) -> None:
        """Raise where a start from the checkpoint at `path` would mix answers of two kinds or places."""
        for name, place in now.sources.items():
            before = self.sources.get(name)
            if before and place and before != place:
                raise RunError(f"the checkpoint '{path}' was made over source '{name}' as {before}, and now it is "
                               f"{place}: what was read of the first says nothing of the second. Register it "
                               f"{AS_IT_WAS}")
        if self.sink and self.sink != now.sink:
            raise RunError(f"the answers of the checkpoint '{path}' go to {self.sink}, and would now go to "
                           f"{now.sink or 'a sink that keeps none'}, where those before are not. Name the sink "
                           f"{AS_IT_WAS}")
        for name in sorted({*self.settings, *now.settings}):
            # What an older version did not keep counts as not set.
            before, value = (kept.get(name, default_of(name)).lower() for kept in (self.settings, now.settings))
            if before != value:
                raise RunError(f"the checkpoint '{path}' was made with {name} {before}, and in this session it is "
                               f"{value}, by which answers may differ. Set it {AS_IT_WAS}")
        self.require_zone(path, now.zone, times)

    def require_zone(self, path: str, zone: str, times: Sequence[str]) -> None:
        """Raise where another time zone moves event times, and say where it moves what queries make of them."""
        if zone == self.zone:
            return
        told = f"the checkpoint '{path}' was made in the time zone {self.zone}, and this session's is {zone}"
        if {"string", "date"} & set(times):
            raise RunError(f"{told}: event times that are texts or dates would be other moments. Set {ZONE} "
                           f"{AS_IT_WAS}")
        warn(StreamWarning(f"{told}: from here on expressions such as date_trunc and hour read times in the new one."),
             stacklevel=7)  # the caller of loom.start or plan.start


def find_environment(spark: SparkSession, arrivals: Iterable[StreamInput], sink: AnswerSink) -> StreamEnvironment:
    """What surrounds a stream that starts now."""
    return StreamEnvironment({arrival.name: arrival.place for arrival in arrivals}, sink.location(), read_pinned(spark),
                             str(spark.conf.get(ZONE)))
