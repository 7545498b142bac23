"""What a fuzzing run has done so far: cases, verdicts, refusals, distinct failures and what was drawn."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass, field

from tests.fuzz.case import Case
from tests.fuzz.check import DIFFERENT, EQUAL, FAILURES, INVALID, REFUSED, TROUBLE, Verdict
from tests.fuzz.script import unusual

SHOWN = 40


@dataclass
class Tally:
    """Counts that grow with each case."""

    began: float = field(default_factory=time.monotonic)
    cases: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    invalid: Counter[str] = field(default_factory=Counter)
    drawn: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    looks: Counter[str] = field(default_factory=Counter)
    failures: dict[str, list[str]] = field(default_factory=dict)

    def add(self, case: Case, verdicts: list[Verdict]) -> None:
        """Count a case."""
        self.cases += 1
        for verdict in verdicts:
            self.outcomes[verdict.outcome] += len(verdict.queries)
            if verdict.outcome == REFUSED:
                self.refusals[sentence(verdict.detail)] += 1
            if verdict.outcome == INVALID:
                self.invalid[sentence(verdict.detail)] += 1
            for i in verdict.queries:
                tags = {*case.queries[i].tags, *ways(case)}
                self.drawn.update(tags)
                self.compared.update(tags if verdict.outcome in (EQUAL, DIFFERENT) else ())

    @property
    def seconds(self) -> float:
        """How long it runs."""
        return time.monotonic() - self.began

    def line(self) -> str:
        """The progress in a line."""
        compared = self.outcomes[EQUAL] + self.outcomes[DIFFERENT]
        return (f"{self.cases} cases, {compared} queries compared ({compared / self.seconds:.2f} a second), "
                f"{sum(self.outcomes[o] for o in FAILURES)} failed in {len(self.failures)} ways"
                + (f", {self.outcomes[TROUBLE]} not run" if self.outcomes[TROUBLE] else ""))

    def to_dict(self) -> dict:
        """All counts as plain values."""
        return {"cases": self.cases, "seconds": round(self.seconds, 1), "outcomes": dict(self.outcomes),
                "refusals": dict(self.refusals.most_common()), "invalid": dict(self.invalid.most_common()),
                "coverage": {name: [count, self.compared[name]] for name, count in sorted(self.drawn.items())},
                "failures": self.failures}

    def __str__(self) -> str:
        lines = [self.line(), "", "outcomes"]
        lines += [f"  {count:6} {name}" for name, count in self.outcomes.most_common()]
        for title, counts in (("refused by Weft, not by Spark", self.refusals), ("refused by both", self.invalid)):
            lines += ["", title, *(f"  {count:6} {text}" for text, count in counts.most_common(SHOWN))]
        lines += ["", "drawn, compared"]
        lines += [f"  {count:6} {self.compared[name]:6} {name}" for name, count in sorted(self.drawn.items())]
        if self.outcomes[TROUBLE]:
            lines += ["", f"{self.outcomes[TROUBLE]} queries were not compared, because Spark could not reach a Python "
                      "worker: the machine is too busy. Nothing is known of them; run fewer things beside."]
        lines += ["", "failures", *(f"  {name}\n      {', '.join(places[:6])}"
                                    for name, places in self.failures.items())]
        return "\n".join(lines)


def ways(case: Case) -> list[str]:
    """How a case is run and what is set, as tags."""
    run = case.run
    found = [f"run {run.kind}", f"optimizer {run.optimizer}", f"algorithm {run.algorithm or 'chosen'}"]
    found += [f"format {run.format}"] if run.kind in ("sink", "stream") else []
    found += [f"sharing {run.sharing}"] if run.sharing else []
    found += ["late rows"] if run.kind == "stream" and run.late and run.files > 1 else []
    found += ["restart"] if run.kind == "stream" and run.restart else []
    found += [f"name {name}" for name in case.names.values()]
    return found + [f"{name} = {value}" for name, value in unusual(case).items()]


def sentence(detail: str) -> str:
    """A refusal without the names and places that vary."""
    text = re.sub(r"query '[^']*', line \d+, column \d+: |query '[^']*': |Weft understood: .*", "", detail)
    return re.sub(r'"[^"]*"|\d+', "…", text)[:170]
