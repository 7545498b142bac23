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

VARYING = re.compile(r"'[^']*'|\d+|\[[^]]*\]|`[^`]*`|#\w+|weft_\w+")
HEAD = '''"""{title}"""
import datetime
from decimal import Decimal

from pyspark.sql import SparkSession

from weft import Loom

nan, inf = float("nan"), float("inf")
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
    what = f"{kind} of {', '.join(asked)} [{', '.join(spelled)}]"
    return f"{case.run.kind} {verdict.outcome} {what} under {unusual(case)}"


def rough(case: Case, verdict: Verdict) -> str:
    """What is known of a failure before it is made smaller."""
    if verdict.outcome != DIFFERENT:
        return signature(case, verdict)
    kind = "columns" if verdict.detail.startswith("columns") else "rows"
    return f"{case.run.kind} {kind} {sorted(name for name in unusual(case) if 'Type' in name or 'case' in name)}"


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
    lines += [*table_lines(case), "loom = Loom(spark)", f"loom.source('t', frame, time={case.names.get('ts', 'ts')!r})"]
    for i, query in enumerate(case.queries):
        lines += [f"loom.query('q{i}', {weft_text(query, case.names)!r})"]
    lines += ["results = loom.run()", f"# how it was run: {case.run}"]
    for i, query in enumerate(case.queries):
        theirs = f"loom.native('q{i}')" if query.window.spelling == "rows" else (
            f"spark.sql({spark_text(query, case.names)!r})")
        lines += [f"{theirs}.show(truncate=False)", f"results['q{i}'].show(truncate=False)"]
    return "\n".join(lines) + f"\n\n# python -m tests.fuzz --replay THIS.json replays:\n# {case.to_json()}\n"


def shown(case: Case, verdict: Verdict) -> str:
    """A failing case in a few lines; the program has its rows too."""
    rows = len(rows_of(case.shape))
    texts = [f"  {weft_text(query, case.names)}" for query in case.queries]
    return "\n".join([f"  {verdict.detail[:600]}", f"  {rows} rows, {unusual(case)}, {case.run}", *texts])


def table_lines(case: Case) -> list[str]:
    """The table with those columns that the queries name."""
    used = {place[2].partition(".")[0] for text in pieces(case) for place in PLACE.finditer(text) if not place[1]}
    roles = [role for role in COLUMNS if role in used | {"ts"}]
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
