"""The rows of a source as workers cut them: a column for each different expression that some scan asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from weft.final.cut import ComputedColumns, RowColumns, RowCutter
from weft.final.project.leaves import Value
from weft.final.project.tree import Node, walk
from weft.final.prompt import Prompt
from weft.model.marks import Marking
from weft.model.stages import PartialStage
from weft.spark.bind.char_columns import is_char
from weft.spark.stages.partial import MARK, add_marks, any_of, to_micros
from weft.spark.stages.row_lifts import ONE, normalize_key
from weft.stages.project.answers import require_value
from weft.stages.project.coercion import NotCoveredError
from weft.stages.project.compiler import Compiler
from weft.stages.project.marks import compile_marks

TIME = "t"
MARKS = "__weft_marks_"
PACKED = "bucket int, grouping int, slices binary"


@dataclass(frozen=True)
class SentRows:
    """Rows for the workers, what they compute of these, and what each scan finds where in both."""

    rows: DataFrame
    computed: ComputedColumns
    columns: tuple[RowColumns, ...]

    def cut(self, cutter: RowCutter) -> DataFrame:
        """What a cutter makes of the rows."""
        return self.rows.mapInArrow(Prompt(cutter), PACKED)


@dataclass
class ExpressionNames:
    """Names for different expressions."""

    made: dict[str, str] = field(default_factory=dict)

    def __call__(self, sql: str) -> str:
        """The name of an expression."""
        return self.made.setdefault(sql, f"x{len(self.made)}")


@dataclass(frozen=True)
class RowsPlan:
    """What is sent of a source's rows: the columns that workers read, by alias, the expressions that Spark evaluates,
    by SQL, the marks that Spark makes, what workers compute, and what each scan finds where."""

    read: Mapping[str, str]
    rest: Mapping[str, str]
    marks: tuple[str, ...]
    computed: ComputedColumns
    columns: tuple[RowColumns, ...]

    @property
    def reads_marks(self) -> bool:
        """Whether Spark has to make marks: some are sent, or something that is sent is computed with them."""
        return bool(self.marks) or any(MARKS in sql for sql in self.rest)

    def computed_by_spark(self, place: int) -> bool:
        """Whether Spark computes anything but the event time for a scan."""
        return bool(self.columns[place].names & {*self.rest.values(), *self.marks})

    def only(self, places: Sequence[int]) -> RowsPlan:
        """What is sent for some of the scans alone."""
        columns = tuple(self.columns[place] for place in places)
        asked = {name for each in columns for name in each.names}
        made = {name: node for name, node in zip(self.computed.names, self.computed.nodes, strict=True)
                if name in asked}
        leaves = {node.name for root in made.values() for node in walk(root) if isinstance(node, Value)}
        return RowsPlan({alias: name for alias, name in self.read.items() if alias in leaves},
                        {sql: alias for sql, alias in self.rest.items() if alias in asked},
                        tuple(name for name in self.marks if name in asked),
                        ComputedColumns(tuple(made), tuple(made.values())), columns)


@dataclass(frozen=True)
class CountedRows:
    """The rows that some scan may count, with the names of each scan's marks, and the test by which it counts them."""

    rows: DataFrame
    marks: Sequence[tuple[str, ...]]
    tests: Sequence[str | None]


def send_rows(source: DataFrame, stages: Sequence[PartialStage], plan: RowsPlan) -> SentRows:
    """The rows as they are planned to be sent: what workers compute themselves is not sent, and nothing twice."""
    head, rows = stages[0], rows_that_count(source, stages).rows if plan.reads_marks else filtered(source, stages)
    read = [F.col(quoted(column)).alias(alias) for alias, column in plan.read.items()]
    values = [F.expr(sql).alias(alias) for sql, alias in plan.rest.items()]
    time = F.expr(to_micros(head.time, head.time_type)).alias(TIME)
    return SentRows(rows.select(time, *plan.marks, *read, *values), plan.computed, plan.columns)


def plan_rows(source: DataFrame, stages: Sequence[PartialStage], ansi: bool) -> RowsPlan:
    """What is sent for scans of the same time, by the types that Spark's analyser gives; other rows of the same columns
    under the same settings are sent alike."""
    counted = rows_that_count(source, stages)
    name, known = ExpressionNames(), set(source.columns)
    found = tuple(name_columns(stage, mine, test, name, lambda sql: sql.strip("`") in known)
                  for stage, mine, test in zip(stages, counted.marks, counted.tests, strict=True))
    asked = counted.rows.select(*(F.expr(sql).alias(alias) for sql, alias in name.made.items()))
    made = WorkerExpressions(source.schema, stages[0], ansi)
    for stage, marks in zip(stages, counted.marks, strict=True):
        made.add_marks(stage.marking, marks)
    return made.plan(name.made, asked.schema, list(dict.fromkeys(m for mine in counted.marks for m in mine)), found)


def filtered(source: DataFrame, stages: Sequence[PartialStage]) -> DataFrame:
    """The rows that have an event time, of scans that all have predicates those that pass one of them."""
    tests = [None if None in stage.predicates else any_of(stage.predicates) for stage in stages]
    rows = source.where(f"({stages[0].time}) IS NOT NULL")
    return rows if None in tests or any(stage.marks for stage in stages) else rows.where(any_of(tests))


def rows_that_count(source: DataFrame, stages: Sequence[PartialStage]) -> CountedRows:
    """The rows of a source with the marks of scans that have any."""
    rows, marks = mark_all(filtered(source, stages), stages)
    tests = [row_test(stage, mine) for stage, mine in zip(stages, marks, strict=True)]
    return CountedRows(rows, marks, tests)


class WorkerExpressions:
    """What workers compute of the columns of a source's rows."""

    def __init__(self, source: StructType, head: PartialStage, ansi: bool):
        fields = {field.name.lower(): field for field in source.fields}
        # Names that differ in case only are left to Spark, and what it pads.
        self.fields = {name: field for name, field in fields.items()
                       if len(fields) == len(source.fields) and not is_char(field)}
        self.aliases = {name: f"b{i}" for i, name in enumerate(self.fields)}
        self.columns: dict[str, Node] = {name: Value(field.dataType.simpleString(), self.aliases[name])
                                         for name, field in self.fields.items()}
        self.compiler = Compiler(self.columns, ansi)
        if head.time_type == "timestamp":
            self.compiler.give(f"unix_micros({head.time})", Value("bigint", TIME))
        self.made: dict[str, Node] = {}

    def add_marks(self, marking: Marking, names: Sequence[str]) -> None:
        """Compute marks under some names; those that workers cannot compute are Spark's."""
        if not names or names[0] in self.made:
            return
        try:
            found = dict(zip(names, compile_marks(self.compiler, marking), strict=True))
        except NotCoveredError:
            return
        self.made |= found
        self.columns |= found

    def plan(self, asked: Mapping[str, str], types: StructType, marks: Sequence[str],
             columns: tuple[RowColumns, ...]) -> RowsPlan:
        """What is sent, of some expressions given with their names, and of marks."""
        made = self.made | {alias: node for sql, alias in asked.items()
                            if (node := self.compiled(sql, types[alias].dataType.simpleString()))}
        leaves = {node.name for root in made.values() for node in walk(root) if isinstance(node, Value)}
        read = {alias: self.fields[name].name for name, alias in self.aliases.items() if alias in leaves}
        rest = {sql: alias for sql, alias in asked.items() if alias not in made}
        sent = tuple(name for name in marks if name not in made)
        return RowsPlan(read, rest, sent, ComputedColumns(tuple(made), tuple(made.values())), columns)

    def compiled(self, sql: str, kind: str) -> Node | None:
        """The expression for workers, None where only Spark evaluates it."""
        try:
            node = require_value(self.compiler.compile(sql), sql)
        except NotCoveredError:
            return None
        return node if node.kind == kind else None


def quoted(name: str) -> str:
    """A column's name that Spark reads as it is."""
    return f"`{name.replace('`', '``')}`"


def mark_all(rows: DataFrame, stages: Sequence[PartialStage]) -> tuple[DataFrame, list[tuple[str, ...]]]:
    """The rows with the marks of all stages that have any, equal ones once, and their names."""
    made: dict[Marking, tuple[str, ...]] = {}
    own = rows.columns
    for stage in stages:
        if stage.marks and stage.marking not in made:
            digest = sha256(repr(stage.marking).encode()).hexdigest()[:16]
            names = tuple(f"{MARKS}{digest}_{i}" for i in range(stage.marks))
            marked = [F.col(MARK.format(i)).alias(name) for i, name in enumerate(names)]
            before = [f"`{name}`" for known in made.values() for name in known]
            rows = add_marks(rows, stage).select(*map(quoted, own), *before, *marked)
            made[stage.marking] = names
    return rows, [made[stage.marking] if stage.marks else () for stage in stages]


def row_test(stage: PartialStage, marks: Sequence[str]) -> str | None:
    """Spark SQL for whether a row counts in a scan; None where all do."""
    if None in stage.predicates:
        return None
    return " OR ".join(f"{name} <> 0" for name in marks) if marks else any_of(stage.predicates)


def name_columns(stage: PartialStage, marks: tuple[str, ...], test: str | None, name: ExpressionNames,
                 is_column: Callable[[str], bool]) -> RowColumns:
    """The names of all that a scan asks of rows. On rows that do not count, expressions might raise an error."""

    def guarded(sql: str) -> str:
        return name(sql if test is None or is_column(sql) else f"IF({test}, {sql}, NULL)")

    keys = tuple(guarded(normalize_key(sql, kind)) for sql, kind in zip(stage.keys, stage.key_types, strict=True))
    lifts = [column.lift for column in stage.columns if column.lift is not None]
    values = tuple((None, False) if lift == ONE else (guarded(lift.sql), lift.counts) for lift in lifts)
    keep = name(test) if test is not None and not marks else None
    return RowColumns(TIME, keys, marks, values, keep, bool(marks) and test is not None)
