"""The results of the bench of schedules as tables, with what the paper says beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from final_tables import Sheet, pick, unique

Results = dict[str, Any]
Record = dict[str, Any]
NAMES = ("conservative", "aggressive", "hybrid", "harmonic", "cyclic")
# What 003 prints for each partition; conservative leaves out 9 / 30, where all three groups coincide.
PRINTED = {"G1, G2, G3": "11.63", "G1+G2, G3": "11.4", "G1+G2+G3": "14.5", "G1, G2+G3": "12.67", "G1+G3, G2": "16.83"}
SHOWN = (4, 6, 8, 10, 12, 16, 20, 30)
COMPARED = ("no schedule", "conservative", "hybrid", "harmonic", "cyclic")


def schedule_sheets(results: Results) -> list[Sheet]:
    """All tables of the bench."""
    return [choices_sheet(results), policies_sheet(results), random_sheet(results), executed_sheet(results),
            missed_sheet(results)]


def choices_sheet(results: Results) -> Sheet:
    """The paper's five choices."""
    named = {", ".join("+".join(part) for part in choice["parts"]): choice["cost"] for choice in results["choices"]}
    rows = [[parts, f"{cost:.2f}", PRINTED[parts]] for parts, cost in sorted(named.items(), key=lambda item: item[1])]
    return Sheet("choices", "The partitions of the paper's groups, cost a minute", ("partition", "cost", "printed"),
                 rows)


def policies_sheet(results: Results) -> Sheet:
    """The policies on the paper's groups."""
    rows = [[one["policy"], f"{one['cost']:.2f}", f"{one['period']}", f"{one['runs']}"] for one in results["policies"]]
    return Sheet("policies", "The policies on the paper's groups", ("policy", "cost a minute", "period, minutes",
                                                                    "runs in 30 minutes"), rows)


def random_sheet(results: Results) -> Sheet:
    """The policies on random groups."""
    rows, notes = [], []
    for (form,) in unique(results["random"], "form"):
        mine = pick(results["random"], form=form)
        rows += [[f"{form}: {name}", *(f"{mean_ratio(mine, name, other):.3f}" for other in (*NAMES[:3], "cyclic")),
                  f"{beats_both(mine, name):.0%}", f"{1000 * mean_seconds(mine, name):.1f}"] for name in NAMES]
        best = sum(one["cyclic"]["best"] for one in mine)
        notes.append(f"{form} costs: {len(mine)} sets of {results['groups']} groups, in {best} of which cyclic is the "
                     "proven optimum.")
    return Sheet("random", "Mean cost by that of other policies, on random groups",
                 ("costs: policy", "/ conservative", "/ aggressive", "/ hybrid", "/ cyclic", "below both", "ms"), rows,
                 (" ".join(notes),))


def mean_seconds(records: Sequence[Record], name: str) -> float:
    """The mean processor time that a policy took."""
    return sum(one[name]["seconds"] for one in records) / len(records)


def mean_ratio(records: Sequence[Record], name: str, other: str) -> float:
    """The mean of one policy's cost by another's."""
    return sum(one[name]["cost"] / one[other]["cost"] for one in records) / len(records)


def beats_both(records: Sequence[Record], name: str) -> float:
    """In what part of the sets a policy costs less than conservative and aggressive."""
    better = [one[name]["cost"] < min(one["conservative"]["cost"], one["aggressive"]["cost"]) * (1 - 1e-12)
              for one in records]
    return sum(better) / len(better)


def executed_sheet(results: Results) -> Sheet:
    """Executions a minute by capacity, apart and merged."""
    rows = [[f"{name}, {'merged' if merge else 'apart'}", *by_capacity(results, name, merge, "executed", "{:.3f}")]
            for name in COMPARED for merge in (False, True)]
    return Sheet("executed", "Groups executed a minute, by capacity", ("timetable", *map(str, shown(results))), rows)


def missed_sheet(results: Results) -> Sheet:
    """The part of executions that came too late, merged."""
    rows = [[name, *by_capacity(results, name, True, "missed", "{:.0%}")] for name in COMPARED]
    return Sheet("missed", "Executions that came later than their bound, merged, by capacity",
                 ("timetable", *map(str, shown(results))), rows)


def shown(results: Results) -> list[int]:
    """The capacities of a table."""
    return [capacity for (capacity,) in unique(results["overload"], "capacity") if capacity in SHOWN]


def by_capacity(results: Results, name: str, merge: bool, field: str, form: str) -> list[str]:
    """One text a capacity."""
    found = {one["capacity"]: one[field] for one in pick(results["overload"], timetable=name, merge=merge)}
    return [form.format(found[capacity]) for capacity in shown(results)]


def real_sheets(results: Results) -> list[Sheet]:
    """The tables of the real runner."""
    saved, loaded = results["saving"], results["overload"]
    rows = [[name, f"{saved['predicted_per_minute'][name]:.1f}",
             f"{saved[name]['busy'] * 60 / saved[name]['seconds']:.1f}", str(saved[name]["runs"]),
             str(saved[name]["late"])] for name in ("conservative", "hybrid")]
    note = (f"Predicted saving {saved['predicted']:.1%}, measured {saved['measured']:.1%}; bounds of "
            f"{', '.join(map(str, saved['bounds']))} s, {saved['hybrid']['seconds']} s each.")
    first = Sheet("real saving", "Seconds of runs a minute by the real runner",
                  ("policy", "predicted", "measured", "runs", "late runs"), rows, (note,))
    rows = [[name, f"{loaded[name]['executed_per_minute']:.1f}", str(loaded[name]["runs"]),
             f"{loaded[name]['busy'] / loaded[name]['seconds']:.0%}"] for name in ("apart", "merged")]
    note = (f"{loaded['due_per_minute']:.0f} groups are due a minute, {loaded['overload']:.1f} times what can run "
            f"apart; merged executes {loaded['ratio']:.2f} times as many.")
    return [first, Sheet("real overload", "Groups executed a minute by the real runner under overload",
                         ("runs", "executed a minute", "runs", "busy"), rows, (note,))]
