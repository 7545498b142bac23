"""The rows of a source as workers cut them: a column for each different expression that some scan asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from weft.final.cut import ComputedColumns, RowColumns
from weft.final.project.leaves import Value
from weft.final.project.tree import Node, walk
from weft.model.marks import Marking
from weft.model.stages import PartialStage
from weft.spark.stages.partial import MARK, add_marks, any_of, to_micros
from weft.spark.stages.row_lifts import ONE, normalize_key
from weft.stages.project.answers import require_value
from weft.stages.project.coercion import NotCoveredError
from weft.stages.project.compiler import Compiler

TIME = "t"


@dataclass(frozen=True)
class SentRows:
    """Rows for the workers, what they compute of these, and what each scan finds where in both."""

    rows: DataFrame
    computed: ComputedColumns
    columns: tuple[RowColumns, ...]


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
    by SQL, what workers compute, and what each scan finds where."""

    read: Mapping[str, str]
    rest: Mapping[str, str]
    computed: ComputedColumns
    columns: tuple[RowColumns, ...]


def send_rows(source: DataFrame, stages: Sequence[PartialStage], ansi: bool) -> SentRows:
    """The rows of a source for scans of the same time: what workers compute themselves is not sent, and nothing twice.
    """
    return send_planned(source, stages, plan_rows(source, stages, ansi))


def plan_rows(source: DataFrame, stages: Sequence[PartialStage], ansi: bool) -> RowsPlan:
    """What is sent for scans of the same time, by the types that Spark's analyser gives; other rows of the same columns
    under the same settings are sent alike."""
    rows, marks, tests = rows_that_count(source, stages)
    name, known = ExpressionNames(), set(source.columns)
    found = tuple(name_columns(stage, mine, test, name, lambda sql: sql.strip("`") in known)
                  for stage, mine, test in zip(stages, marks, tests, strict=True))
    asked = rows.select(*(F.expr(sql).alias(alias) for sql, alias in name.made.items()))
    computed, read, rest = compute_in_workers(name.made, source.schema, asked.schema, stages[0], ansi)
    return RowsPlan(read, rest, computed, found)


def send_planned(source: DataFrame, stages: Sequence[PartialStage], plan: RowsPlan) -> SentRows:
    """The rows as they are planned to be sent."""
    head, (rows, marks, _) = stages[0], rows_that_count(source, stages)
    read = [F.col(quoted(column)).alias(alias) for alias, column in plan.read.items()]
    values = [F.expr(sql).alias(alias) for sql, alias in plan.rest.items()]
    time = F.expr(to_micros(head.time, head.time_type)).alias(TIME)
    marked = dict.fromkeys(m for mine in marks for m in mine)
    return SentRows(rows.select(time, *marked, *read, *values), plan.computed, plan.columns)


def rows_that_count(source: DataFrame,
                    stages: Sequence[PartialStage]) -> tuple[DataFrame, list[tuple[str, ...]], list[str | None]]:
    """The rows that some scan may count, with the marks of each scan, and the test by which each counts them."""
    rows, marks = mark_all(source.where(f"({stages[0].time}) IS NOT NULL"), stages)
    tests = [row_test(stage, mine) for stage, mine in zip(stages, marks, strict=True)]
    return rows.where(any_of(tests)) if all(tests) and not any(marks) else rows, marks, tests


def compute_in_workers(asked: Mapping[str, str], source: StructType, types: StructType, head: PartialStage,
                       ansi: bool) -> tuple[ComputedColumns, dict[str, str], dict[str, str]]:
    """What workers can compute of some expressions, given with their names; the source's columns that they read, by
    alias; and the expressions that are left to Spark."""
    fields = {field.name.lower(): field for field in source.fields}
    plain = fields if len(fields) == len(source.fields) else {}  # names that differ in case only are left to Spark
    aliases = {name: f"b{i}" for i, name in enumerate(plain)}
    columns: dict[str, Node] = {name: Value(field.dataType.simpleString(), aliases[name])
                                for name, field in plain.items()}
    compiler = Compiler(columns, ansi)
    if head.time_type == "timestamp":
        compiler.give(f"unix_micros({head.time})", Value("bigint", TIME))
    made = {alias: node for sql, alias in asked.items()
            if (node := compiled(compiler, sql, types[alias].dataType.simpleString()))}
    leaves = {node.name for root in made.values() for node in walk(root) if isinstance(node, Value)}
    read = {alias: fields[name].name for name, alias in aliases.items() if alias in leaves}
    rest = {sql: alias for sql, alias in asked.items() if alias not in made}
    return ComputedColumns(tuple(made), tuple(made.values())), read, rest


def compiled(compiler: Compiler, sql: str, kind: str) -> Node | None:
    """The expression for workers, None where only Spark evaluates it."""
    try:
        node = require_value(compiler.compile(sql), sql)
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
            names = tuple(f"__weft_marks_{len(made)}_{i}" for i in range(stage.marks))
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
