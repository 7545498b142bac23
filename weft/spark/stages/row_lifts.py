"""Which slices workers can make of rows: what each row brings to a column is known, and equal slices can be merged."""

from __future__ import annotations

from collections.abc import Sequence

from weft.aggregates.base import FRACTIONAL, INTEGRAL
from weft.aggregates.component import ROWS, Component
from weft.final.state.form import SliceForm
from weft.model.stages import PartialStage
from weft.spark.stages.partial import SLICE

# Keys that have the same bytes wherever Spark groups them, once floats are made so.
PLAIN = (*INTEGRAL, *FRACTIONAL, "boolean", "string", "binary", "date", "timestamp", "timestamp_ntz")
ONE = ROWS.lifts[0].under(None)  # what every row brings to a count of rows


def has_lifts(stage: PartialStage) -> bool:
    """Whether workers can make the slices of a stage out of rows."""
    return all(column.lift for column in stage.columns) and can_merge(stage)


def can_merge(stage: PartialStage) -> bool:
    """Whether workers can make one slice of several of a key and start."""
    plain = all(kind in PLAIN or kind.startswith("decimal") for kind in stage.key_types)
    return plain and find_merges(stage) is not None


def find_merges(stage: PartialStage) -> tuple | None:
    """How the slices of a stage are merged."""
    return merge_components(stage, stage.components, range(len(stage.columns)))


def merge_components(root: PartialStage, components: Sequence[Component], needed: Sequence[int]) -> tuple | None:
    """The components of some columns and where each one's lie among them; None where one of them cannot be merged."""
    place = {(root.columns[i].plain, root.columns[i].predicate): at for at, i in enumerate(needed)}
    if not all(c.monoid.merge for c in components):
        return None
    numbers = dict.fromkeys(number for _, number in place)
    found = tuple((c, tuple(place[sql, number] for sql in c.columns))
                  for c in dict.fromkeys((ROWS, *components)) for number in numbers
                  if all((sql, number) in place for sql in c.columns))
    covered = {at for _, places in found for at in places}
    return found if len(covered) == len(needed) else None


def slice_form(root: PartialStage, stage: PartialStage, ansi: bool) -> SliceForm:
    """The form of a stage's slices, merged as those of the scan are."""
    place = {(column.plain, column.predicate): i for i, column in enumerate(root.columns)}
    needed = [place[column.plain, column.predicate] for column in stage.columns]
    names = (*stage.key_names, SLICE, *root.mark_names, *(root.columns[i].name for i in needed))
    merging = merge_components(root, stage.components, needed)
    return SliceForm(len(stage.keys), root.marks, stage.progressions, merging, ansi, names)


def normalize_key(sql: str, kind: str) -> str:
    """Spark SQL for a key of which equal values have equal bytes: Spark groups -0.0 with 0.0, and every NaN."""
    if kind not in FRACTIONAL:
        return sql
    return f"CASE WHEN isnan({sql}) THEN {kind}('NaN') WHEN ({sql}) = 0 THEN {kind}(0) ELSE {sql} END"
