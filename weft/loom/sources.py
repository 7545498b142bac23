"""The sources of a loom, by name: opened, known to Spark's analyser, and listed anew before they are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

from weft.aggregates.weighted import WEIGHT
from weft.errors import PlanError, SourceError
from weft.io.arrivals import StreamInput, refuse_own
from weft.io.drop_boxes import DropBox, Step, hash_units, weigh_rows
from weft.io.sources import Files, RowSource, spell_source
from weft.io.sources.open import describe_origin, open_source
from weft.model.join import Join, JoinMethod, plain_method
from weft.spark.bind.check import Checker
from weft.spark.bind.listings import Listings
from weft.spark.bind.schema import schema_of
from weft.spark.session.connect import is_connect
from weft.spark.session.settings import is_on
from weft.spark.stages.join import join_rows
from weft.sql import SourceSchema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Options of Parquet files that only say which of them, and which of their columns, a source has.
LISTING = ("pathglobfilter", "recursivefilelookup", "modifiedbefore", "modifiedafter", "mergeschema")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, eq=False)
class Source:
    """What a user registered under a name: its columns, what its rows are read from, and how it is read as a stream.

    `drop` is the share of its rows that its queries do without. A source `behind` another one has a drop box.
    """

    name: str
    schema: SourceSchema
    origin: Any
    stream: StreamInput
    drop: float = 0.0
    behind: str | None = None

    @property
    def files(self) -> Files | None:
        """The files that it reads, if a path was given."""
        return self.origin if isinstance(self.origin, Files) else None

    @property
    def join(self) -> Join | None:
        """The join that it is, if a query made it."""
        return self.origin if isinstance(self.origin, Join) else None


class Sources:
    """All sources; `frames` are their rows, made anew where files come or go."""

    def __init__(self, spark: SparkSession, checker: Checker):
        self._spark, self._checker = spark, checker
        self._known: dict[str, Source] = {}
        self._boxes: dict[str, DropBox] = {}
        self.frames: dict[str, DataFrame] = {}
        self.methods: dict[str, JoinMethod] = {}
        self._sampled: dict[str, list[DataFrame]] = {}
        self._joined: dict[str, list[DataFrame]] = {}  # what each join's rows were made of
        self._listings = Listings(spark, self.frames, checker.show)

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def __getitem__(self, name: str) -> Source:
        return self._known[name]

    @property
    def schemas(self) -> dict[str, SourceSchema]:
        """What the SQL reader knows of each that was registered."""
        return {name: each.schema for name, each in self._known.items() if not each.join and each.behind is None}

    @property
    def files(self) -> dict[str, Files]:
        """The files of those that were given as paths."""
        return {name: source.files for name, source in self._known.items() if source.files}

    @property
    def origins(self) -> dict[str, RowSource]:
        """What reads those that are not a user's own DataFrame."""
        return self._listings.origins

    def open(self, name: str, data: DataFrame | RowSource | str | PathLike[str], time: str | None, format: str | None,
             options: Mapping[str, str] | None, schema: str | None,
             watermark: str | None, drop: float = 0.0) -> tuple[Source, DataFrame]:
        """A source and its rows, which `put` makes known; raises where it cannot be read or has no such event time."""
        require_drop(name, drop)
        if not NAME.fullmatch(name):
            raise SourceError(f"'{name}' cannot name a source: use letters, digits, '_', '-' and '.'.")
        self._checker.settings.check()
        origin = spell_source(name, data, format, options, schema)
        frame, arriving = open_source(self._spark, name, origin, schema)
        refuse_own(name, frame.columns)
        known = schema_of(name, frame, time, is_on(self._spark, "spark.sql.caseSensitive"))
        arrival = StreamInput(name, arriving, watermark, describe_origin(origin))
        return Source(name, known, origin, arrival, float(drop)), frame

    def put_box(self, name: str, box: DropBox, behind: str) -> Source:
        """Make the rows of a source known once more, under another name and behind a drop box."""
        base = self._known[behind]
        stream = base.stream
        read = partial(read_weighed, stream.read, base.origin, box)
        made = replace(base, name=name, schema=replace(base.schema, name=name), behind=behind,
                       stream=replace(stream, name=name, read=read))
        self._boxes[name] = box
        self.put(made, self._behind(made))
        return made

    def steps_of(self, sources: Iterable[Source]) -> dict[str, tuple[Step, ...]]:
        """The shares that drop boxes of streams among some sources keep, by the sources that these are of; boxes below
        joins keep to theirs."""
        return {source.behind: self._boxes[source.name].steps for source in sources
                if source.behind is not None and source.name == stream_box(source.behind)}

    def set_steps(self, steps: Mapping[str, tuple[Step, ...]]) -> None:
        """Let drop boxes keep other shares from now on, by the sources that they are of."""
        for box in [source for source in self._known.values() if source.behind in steps]:
            if box.name == stream_box(str(box.behind)):
                self.put_box(box.name, DropBox(steps[str(box.behind)]), str(box.behind))

    def base_of(self, name: str) -> str:
        """The source that the user named: that of a drop box, or the source itself."""
        return self._known[name].behind or name

    def renew_box(self, name: str) -> None:
        """Let a drop box read the rows that its source reads now."""
        self.frames[name] = self._behind(self._known[name])
        self._checker.show(name, self.frames[name])

    def _behind(self, source: Source) -> DataFrame:
        """The rows behind a drop box: of a stream all, for the watermark follows each of them."""
        assert source.behind is not None
        base, box = self.frames[source.behind], self._boxes[source.name]
        if base.isStreaming:
            return weigh_rows(hash_units(base, None, box), box)
        numbered = read_numbered(source.origin, self._spark, False, box)
        rows = weigh_rows(hash_units(base if numbered is None else numbered, source.origin, box), box)
        return rows.where(f"{WEIGHT} > 0")

    def put(self, source: Source, frame: DataFrame) -> None:
        """Make a source known under its name, instead of one that has it already."""
        name = source.name
        boxes = [other.name for other in self._known.values() if other.behind == name]
        for joined in [each.name for each in self._joins() if {name, *boxes} & {*each.sources}]:
            self._checker.forget(joined)  # the queries that read it are checked anew, and make it anew
            del self._known[joined], self.frames[joined], self.methods[joined], self._joined[joined]
            self._sampled.pop(joined, None)
        if name in self._known:
            self._checker.forget(name)
        self._checker.register(name, frame)
        self._known[name], self.frames[name] = source, frame
        self._listings.add(name, source.origin)
        for box in boxes:
            self._forget(box)

    def _forget(self, box: str) -> None:
        """Let go of a drop box, whose source was replaced."""
        self._checker.forget(box)
        self._listings.forget(box)
        del self._known[box], self.frames[box], self._boxes[box]

    def derive(self, join: Join, schema: SourceSchema) -> None:
        """Make a join known as a source, if it is not: queries over equal joins read the same one."""
        if join.name not in self._known:
            # A stream reads the inputs themselves: spark/stream/join.py.
            arriving = StreamInput(join.name, lambda session: self.frames[join.name], None)
            self.put_join(join, Source(join.name, schema, join, arriving))

    def thin(self, join: Join, thinned: Join) -> None:
        """Make a join known whose inputs are those of another one behind drop boxes, and made as that one is."""
        if thinned.name in self._known:
            self.methods[thinned.name] = self.methods[join.name]
            self._join_anew(thinned)
            return
        arriving = StreamInput(thinned.name, lambda session: self.frames[thinned.name], None)
        schema = replace(self._known[join.name].schema, name=thinned.name)
        self.put_join(thinned, Source(thinned.name, schema, thinned, arriving), self.methods[join.name])

    def put_join(self, join: Join, source: Source, method: JoinMethod | None = None) -> None:
        """Make a join known as a source, over the rows that its inputs have now."""
        method = method or plain_method(join)
        frame = join_rows(join, self.frames, method)
        self._checker.register(join.name, frame)
        self._known[join.name], self.frames[join.name] = source, frame
        self.methods[join.name], self._joined[join.name] = method, self._inputs_of(join)

    def use_method(self, join: Join, method: JoinMethod) -> None:
        """Join the inputs of a join by another method from now on."""
        self.methods[join.name] = method
        self._sampled[join.name] = self._inputs_of(join)
        self._join_anew(join)

    def is_sampled(self, join: Join) -> bool:
        """Whether the method of a join was chosen for the rows that its inputs have now."""
        return are_same(self._sampled.get(join.name, []), self._inputs_of(join))

    def _inputs_of(self, join: Join) -> list[DataFrame]:
        """The rows that the inputs of a join have now."""
        return [self.frames[name] for name in join.sources]

    def _joins(self) -> list[Join]:
        return [source.join for source in self._known.values() if source.join]

    def _join_anew(self, join: Join) -> None:
        frame = self.frames[join.name] = join_rows(join, self.frames, self.methods[join.name])
        self._joined[join.name] = self._inputs_of(join)
        self._checker.show(join.name, frame)

    def refresh(self, names: Iterable[str]) -> None:
        """Let the sources read the files that are there now, and those that joins and drop boxes read; raises for a
        stream, which has no end.

        A join is made anew where its inputs are others than it was made of: another refresh may have been theirs.
        """
        asked = [self._known[name] for name in dict.fromkeys(names)]
        read = dict.fromkeys(name for each in asked for name in (each.join.sources if each.join else (each.name,)))
        self._listings.refresh(dict.fromkeys(self.base_of(name) for name in read))
        for box in [name for name in read if self._known[name].behind is not None]:
            self.renew_box(box)
        for each in asked:
            if each.join and not are_same(self._joined[each.name], self._inputs_of(each.join)):
                self._join_anew(each.join)

    def refresh_files(self, name: str) -> None:
        """Let a source read the files that are there now; a stream stays as it is."""
        if not self.frames[name].isStreaming:
            self.refresh([name])

    def parquet_files(self, name: str) -> list[str]:
        """The paths that a source reads, if all are Parquet files of the machine that this program runs on."""
        files = self._known[name].files
        here = files is not None and files.format == "parquet" and not is_connect(self._spark)
        return self._listings.local_paths(name) if here else []

    def whole_parquet(self, name: str) -> list[str]:
        """The same of a source whose rows are just those of the files: no drop box leaves some out, no option that is
        not about which files there are may change what they say, and no pattern has Spark read a file twice."""
        source = self._known[name]
        options, path = (source.files.options, source.files.path) if source.files else ((), "")
        plain = source.behind is None and all(option.lower() in LISTING for option, _ in options) and "{" not in path
        return self.parquet_files(name) if plain else []

    def require_same(self, sources: Iterable[Source]) -> None:
        """Raise where a source was replaced since a plan was made: its columns may be others."""
        if name := self.find_replaced(sources):
            raise PlanError(f"source '{name}' was replaced since this plan was made: plan again.")

    def find_replaced(self, sources: Iterable[Source]) -> str | None:
        """The name of the first of some sources that is another one by now; None where all are as they were."""
        return next((each.name for each in sources if self._known.get(each.name) is not each), None)


def are_same(some: list[DataFrame], others: list[DataFrame]) -> bool:
    """Whether these are the very same DataFrames, of which every listing of files makes another one."""
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


def stream_box(source: str) -> str:
    """The name of a source behind its drop box in a stream."""
    return f"{source} (sheds)"


def require_drop(name: str, drop: object) -> None:
    """Raise where what a source shall drop is no share of its rows."""
    if isinstance(drop, bool) or not isinstance(drop, int | float) or not 0 <= drop < 1:
        raise SourceError(f"source '{name}': drop is the share of rows that is dropped, from 0 to below 1, not "
                          f"{drop!r}: drop=0.25 drops a quarter of them.")


def read_weighed(read: Callable[[SparkSession], DataFrame], origin: Any, box: DropBox,
                 spark: SparkSession) -> DataFrame:
    """The rows of a stream, those that are dropped with a weight of 0: the watermark follows all of them."""
    numbered = read_numbered(origin, spark, True, box)
    return weigh_rows(hash_units(read(spark) if numbered is None else numbered, origin, box), box)


def read_numbered(origin: Any, spark: SparkSession, stream: bool, box: DropBox) -> DataFrame | None:
    """The rows with a hash of each one's place, where their source tells it and a drop box asks for it."""
    return origin.read_numbered(spark, stream) if isinstance(origin, RowSource) and box.by is None else None
