"""A failing case as a program that shows it, and the signature by which failures are told apart."""

from __future__ import annotations

import re
from typing import Any

from tests.fuzz.case import PLACE, Case
from tests.fuzz.check import DIFFERENT, Verdict
from tests.fuzz.draw import USUAL
from tests.fuzz.runs import ddl
from tests.fuzz.shrink import CALL, QUICK
from tests.fuzz.table import COLUMNS, rows_of
from tests.fuzz.text import spark_text, weft_text

VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\d+|\[[^]]*\]|`[^`]*`|#\w+|weft_\w+")
HEAD = '''"""{title}"""
import datetime
import tempfile
from decimal import Decimal

from pyspark.sql import SparkSession

from weft import Loom

nan, inf = float("nan"), float("inf")
home = tempfile.mkdtemp()
spark = SparkSession.builder.master("local[2]").getOrCreate()
'''


def signature(case: Case, verdict: Verdict) -> str:
    """What two failures of one cause have in common: the words of the error, or what was asked and set."""
    if verdict.outcome != DIFFERENT:
        words = VARYING.sub("…", verdict.detail.replace("only together: ", ""))[:160]
        return f"{case.run.kind} {verdict.outcome}: {words}"
    asked = sorted({call[:-1] for query in case.queries for item in query.items for call in CALL.findall(item.sql)})
    spelled = sorted({query.window.spelling for query in case.queries})
    kind = "columns" if verdict.detail.startswith("columns") else "rows"
    what = f"{kind} of {', '.join(asked)} [{', '.join(spelled)}]{old_times(case)}"
    return f"{case.run.kind} {verdict.outcome} {what} under {unusual(case)}"


def rough(case: Case, verdict: Verdict) -> str:
    """What is known of a failure before it is made smaller."""
    if verdict.outcome != DIFFERENT:
        return signature(case, verdict)
    kind = "columns" if verdict.detail.startswith("columns") else "rows"
    meant = sorted(name for name in unusual(case) if "Type" in name or "case" in name)
    return f"{case.run.kind} {kind}{old_times(case)} {meant}"


def old_times(case: Case) -> str:
    """Whether the rows' times lie before 1970."""
    return " before 1970" if case.shape.origin < 0 else ""


def alike(one: Verdict, other: Verdict) -> bool:
    """Whether two failures of one outcome say the same: in columns, in rows, or in the words of an error."""
    if one.outcome == DIFFERENT:
        return one.detail.startswith("columns") == other.detail.startswith("columns")
    first, second = (VARYING.sub("…", v.detail.replace("only together: ", ""))[:60] for v in (one, other))
    return first == second


def unusual(case: Case) -> dict[str, str]:
    """The settings that are not as usual, but for those that only save time."""
    return {name.removeprefix("spark.sql."): value for name, value in case.settings.items()
            if name not in QUICK and USUAL.get(name) != value}


def script_of(case: Case, verdict: Verdict) -> str:
    """A program that shows a failing case."""
    title = f"{verdict.outcome}: {verdict.detail[:300]}".replace('"""', "'''").replace("\\", "\\\\")
    lines = [HEAD.format(title=title)]
    lines += [f"spark.conf.set({name!r}, {value!r})" for name, value in case.settings.items()]
    lines += [*table_lines(case), *source_lines(case)]
    lines += [f"loom.query('q{i}', {weft_text(query, case.names)!r})" for i, query in enumerate(case.queries)]
    lines += run_lines(case)
    for i, query in enumerate(case.queries):
        theirs = f"loom.native('q{i}')" if query.window.spelling == "rows" else (
            f"spark.sql({spark_text(query, case.names)!r})")
        lines += [f"{theirs}.show(truncate=False)", f"answers('q{i}').show(truncate=False)"]
    return "\n".join(lines) + f"\n\n# The whole case, for python -m tests.fuzz --replay:\n# {case.to_json()}\n"


def source_lines(case: Case) -> list[str]:
    """A loom over the table: as it is, or as files where the run needs files."""
    time = case.names.get("ts", "ts")
    if case.run.kind in ("batch", "sink"):
        return ["loom = Loom(spark)", f"loom.source('t', frame, time={time!r})"]
    if case.run.kind == "incremental":
        return ["frame.write.parquet(f'{home}/in')", "loom = Loom(spark, store=f'{home}/store')",
                f"loom.source('t', f'{{home}}/in', time={time!r}, format='parquet')"]
    late = [f"# The case also has {case.run.late} late rows a file, which --replay writes."] if case.run.late else []
    return [*late, "# A row so much later that the watermark closes the windows of all others.",
            "last = [(max(row[0] for row in rows) + datetime.timedelta(days=60), *rows[0][1:])] if rows else []",
            "for part in (frame, spark.createDataFrame(last, schema)):",
            "    part.coalesce(1).write.mode('append').parquet(f'{home}/in')",
            "loom = Loom(spark)",
            f"loom.source('t', f'{{home}}/in', time={time!r}, format='parquet', schema=schema, watermark='4 seconds',",
            "            options={'maxFilesPerTrigger': '1'})"]


def run_lines(case: Case) -> list[str]:
    """The run of a case, and `answers`, which gives the rows of a query."""
    run = case.run
    forced = f"optimizer={run.optimizer!r}" + (f", algorithm={run.algorithm!r}" if run.algorithm else "")
    sink = f"{{'format': {run.format!r}, 'path': f'{{home}}/out'}}"
    header = ".option('header', 'true')" if run.format == "csv" else ""
    read = f"answers = lambda name: spark.read.format({run.format!r}){header}.load(f'{{home}}/out/{{name}}')"
    if run.kind == "stream":
        place = "f'{home}/checkpoint'"
        return [f"stream = loom.start({place}, {sink}, trigger='available', max_clock_skew=None, {forced})",
                "stream.awaitTermination()", read]
    if run.kind == "sink":
        return [f"loom.run({sink}, {forced})", read]
    more = ", incremental=True" if run.kind == "incremental" else ""
    return [f"answers = loom.run({forced}{more}).__getitem__"]


def shown(case: Case, verdict: Verdict) -> str:
    """A failing case in a few lines; the program has its rows too."""
    rows = len(rows_of(case.shape))
    texts = [f"  {weft_text(case.queries[i], case.names)}" for i in verdict.queries if i < len(case.queries)]
    return "\n".join([f"  {verdict.detail[:600]}", f"  {rows} rows, {unusual(case)}, {case.run}", *texts])


def table_lines(case: Case) -> list[str]:
    """The table with those columns that the queries name."""
    used = {place[2].partition(".")[0] for text in pieces(case) for place in PLACE.finditer(text) if not place[1]}
    words = {case.names.get(role, role).lower() for role in used | {"ts"}}  # with those that differ in case alone
    roles = [role for role in COLUMNS if case.names.get(role, role).lower() in words]
    rows = [tuple(row[role] for role in roles) for row in rows_of(case.shape)]
    columns = dict(zip(COLUMNS, split_ddl(ddl(case)), strict=True))
    shown = ",\n    ".join(map(plain, rows))
    return [f"rows = [\n    {shown}\n]", f"schema = {', '.join(columns[role] for role in roles)!r}",
            "frame = spark.createDataFrame(rows, schema)", "frame.createOrReplaceTempView('t')"]


def split_ddl(text: str) -> list[str]:
    """The columns of a schema, parted at the commas between them."""
    return re.split(r", (?=`(?:[^`]|``)*` [a-z])", text)


def pieces(case: Case) -> list[str]:
    """All SQL of a case."""
    return [piece for query in case.queries for piece in (
        *(item.sql for item in query.items), *(key.sql for key in query.keys), query.window.time, query.where or "",
        query.having or "")]


def plain(value: Any) -> str:
    """A value as Python writes it."""
    return repr(value).replace("tzinfo=datetime.timezone.utc", "tzinfo=datetime.UTC")
