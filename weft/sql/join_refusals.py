"""Joins that Weft refuses, each with its sentence and what to write instead."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import isinf

from sqlglot import exp
from sqlglot.tokens import Token

from weft.model.join import TimeBound, close_bounds, reached_from
from weft.sql.join_names import JoinedTable
from weft.sql.spots import word
from weft.sql.text import Text, start_of

MOST = 5
TIMES = ("timestamp", "timestamp_ntz")
INNER = "Write an inner JOIN; for rows without a match run a query over that source alone."
AS_TABLE = "If {} is no stream, register it without `time`: then it is joined as a table."


def refuse_size(text: Text, tables: Sequence[JoinedTable]) -> None:
    """The error for a join of more sources than Weft orders."""
    if len(tables) > MOST:
        raise text.refused(tables[MOST].table, f"Weft joins at most {MOST} sources, not {len(tables)}.",
                           "Prepare some of them as one DataFrame and register it as a source.")


def refuse_kind(text: Text, join: exp.Join, tokens: Sequence[Token]) -> None:
    """The error for a join that is not an inner one."""
    kind = " ".join(join.args.get(part) or "" for part in ("method", "side", "kind")).split()
    at = (word(tokens, kind[0], start_of(join.this)) if kind else None) or join.this
    if not isinstance(join.this, exp.Table):
        raise text.refused(at, "Weft joins registered sources only.", "Register the prepared rows as a source.")
    if [part for part in kind if part not in ("INNER", "CROSS")]:
        raise text.refused(at, f"Weft runs no {' '.join(kind)} JOIN: it runs inner joins.", INNER)


def require_aliases(text: Text, tables: Sequence[JoinedTable]) -> None:
    """The error where two tables are called the same."""
    seen: set[str] = set()
    for table in tables:
        name = table.schema.fold(table.alias)
        if name in seen:
            raise text.refused(table.table, f"two tables of FROM are called '{table.alias}'.",
                               f"Give each an alias: {table.schema.name} AS x JOIN {table.schema.name} AS y.")
        seen.add(name)


def require_times(text: Text, tables: Sequence[JoinedTable]) -> None:
    """The error where event times cannot be compared as timestamps."""
    timed = [(table, table.schema.types[table.time]) for table in tables if table.time]
    for table, kind in timed:
        if kind not in TIMES or kind != timed[0][1]:
            kinds = " and ".join(dict.fromkeys(kind for _, kind in timed))
            raise text.refused(table.table, f"streams are joined by timestamps of one type, not by {kinds}.",
                               f"Cast '{table.time}' of '{table.schema.name}' in the source to a timestamp.")


def refuse_table_windows(text: Text, tables: Sequence[JoinedTable]) -> None:
    """The error for a join window behind a table, whose rows have no time that they could leave it at."""
    for table in tables:
        if table.window is not None and table.time is None:
            raise text.refused(table.window.at, "a table has no window.",
                               f"Leave the bracket out, or register '{table.schema.name}' with `time`.")


def require_linked(text: Text, tables: Sequence[JoinedTable], pairs: Sequence[set[int]]) -> None:
    """The error where an equality links a table with none of the others."""
    reached = reached_from(0, pairs)
    for number, table in enumerate(tables):
        if number not in reached:
            other = tables[0].alias
            raise text.refused(table.table, f"no equality links '{table.alias}' with the tables before it.",
                               f"Add ON {other}.key = {table.alias}.key; without one every row would meet every other.")


def require_bounds(text: Text, tables: Sequence[JoinedTable], bounds: Sequence[TimeBound]) -> None:
    """The error where two streams are not bound in time both ways, or where no rows could be."""
    reach = close_bounds(len(tables), bounds)
    for one, other in combinations([n for n, table in enumerate(tables) if table.time], 2):
        after, before = reach[other][one], reach[one][other]
        if isinf(after) or isinf(before):
            raise _unbound(text, tables[one], tables[other], isinf(after), isinf(before))
    for number, table in enumerate(tables):
        if reach[number][number] < 0:
            raise text.refused(table.table, "no rows meet the bounds on the event times of this join.",
                               "Check the intervals: BETWEEN takes the earlier time first.")


def _unbound(text: Text, one: JoinedTable, other: JoinedTable, after: bool, before: bool) -> Exception:
    a, b = f"{one.alias}.{one.time}", f"{other.alias}.{other.time}"
    if after and before:
        reason = f"no condition binds the event times of '{one.alias}' and '{other.alias}'."
    else:
        late, early = (b, a) if after else (a, b)
        reason = f"nothing bounds how far {late} can be after {early}."
    hint = f"Add {b} BETWEEN {a} - INTERVAL '5' MINUTE AND {a} + INTERVAL '1' MINUTE. "
    return text.refused(other.table, reason, hint + AS_TABLE.format(f"'{other.schema.name}'"))
