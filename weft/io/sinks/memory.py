"""The driver's memory as a sink."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from weft.io.answer_sink import Answers, AnswerSink, Columns, NamedSink, SinkFacts


class MemorySink(AnswerSink):
    """Keeps all answers in the driver, for notebooks and tests; each trigger once."""

    facts = SinkFacts("memory", batch=False, exactly_once=True, over_connect=False, observable=True,
                      columns=Columns(frozenset({"interval"})))

    def __init__(self) -> None:
        self._rows: dict[str, dict[int, pa.Table]] = {}

    def write(self, answers: Answers, trigger: int | None) -> None:
        """Keep them under the trigger's number."""
        assert trigger is not None
        for names, rows in answers.together():
            table = rows.toArrow()
            query, own = table.column(answers.query_column), table.drop_columns([answers.query_column])
            for name in names:
                self._rows.setdefault(name, {})[trigger] = own.filter(pc.equal(query, name))

    def table(self, name: str) -> pa.Table | None:
        """All rows of a query so far, or None before the first trigger."""
        found = list(self._rows.get(name, {}).values())
        return pa.concat_tables(found) if found else None


memory = NamedSink(MemorySink.facts, lambda said: MemorySink())
