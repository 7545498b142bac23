"""The results of the benches of final algorithms as tables, and their verdicts as sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Results = dict[str, Any]
Record = dict[str, Any]

AIMS = {"prefix": 4, "panes_inv": 4, "block_jit": 3, "block": 12, "two_stacks": 7, "daba": 10, "slick_deque_inv": 16,
        "slick_deque": 16, "flat_fit": 20, "flat_fat": 40}
AIM_WINDOWS = (16, 256, 4096, 65536)
VIEW = 0.03  # nanoseconds: nothing is computed, the answer is a view of the slices
ONE_BY_ONE = ("slick_deque", "slick_deque_inv", "flat_fit", "b_int", "flat_fat")  # and serve many ranges
SHARES = ("min", "p25", "median", "p75", "p99", "max", "mean")


@dataclass(frozen=True)
class Sheet:
    """A table: the page's section it belongs to, a title, headings, rows of texts, and lines below it."""

    section: str
    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def unique(records: Iterable[Record], *fields: str) -> list[tuple]:
    """The combinations of fields that occur, in their order."""
    return list(dict.fromkeys(tuple(r[f] for f in fields) for r in records))


def pick(records: Iterable[Record], **wanted: Any) -> list[Record]:
    """The records with these values."""
    return [r for r in records if all(r.get(name) == value for name, value in wanted.items())]


def digits(value: float) -> str:
    """A number with about three digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def grid(records: Sequence[Record], column: str, columns: Sequence[Any], cell: Callable[[Record], str],
         rows: Sequence[str] = ("member", "via")) -> list[list[str]]:
    """One row a member and way, one column a case; rows in which nothing was measured are left out."""
    made = []
    for row in unique(records, *rows):
        mine = {r[column]: r for r in pick(records, **dict(zip(rows, row, strict=True)))}
        if any("ns" in r for r in mine.values()):
            made.append([*map(str, row), *(cell(mine[c]) if c in mine else "" for c in columns)])
    return made


def measured(record: Record, show: Callable[[Record], str]) -> str:
    """A record's text: what was measured, refused or skipped."""
    if "ns" in record:
        return "view" if record["ns"] < VIEW else show(record)
    return "–" if "refused" in record else "…"


SIGNS = "– the member refuses (its algebra, its tables or the rounding bound); … not waited for; view: the answers "
SIGNS += "are the slices, and nothing is computed."


def single_sheets(results: Results) -> list[Sheet]:
    """Throughput of one range, the aims, and latency."""
    windows, copy = results["windows"], results["memcpy_ns"]
    sheets = []
    for (kind,) in unique(results["rates"], "kind"):
        rows = grid(pick(results["rates"], kind=kind), "window", windows,
                    lambda r: measured(r, lambda r: f"{digits(r['ns'])} ({r['ns'] / copy:.0f}×)"))
        title = f"{kind}: nanoseconds a slide, and the multiple of memcpy, by slices a window"
        sheets.append(Sheet(f"single {kind}", title, ("member", "by", *(f"{w:,}" for w in windows)), rows, (SIGNS,)))
    sheets += [aims_sheet(results, "aims", "in the cache"), limits_sheet(results["limits"], copy)]
    if results["large"]:
        sheets.append(aims_sheet(results["large"], "aims large", "out of the cache"))
    return [*sheets, *latency_sheets(results["latency"])]


def aims_sheet(results: Results, section: str, where: str) -> Sheet:
    """The aims as multiples of memcpy, reached or not."""
    rows, copy = [], results["memcpy_ns"]
    for member, aim in AIMS.items():
        for (kind,) in unique(results["rates"], "kind"):
            mine = [r for r in pick(results["rates"], member=member, kind=kind)
                    if r["via"] == way_of(member) and r["window"] in AIM_WINDOWS]
            if any("ns" in r for r in mine):
                found = {r["window"]: measured(r, lambda r: f"{r['ns'] / copy:.1f}") for r in mine}
                cells = (found.get(w, "–") for w in AIM_WINDOWS)
                rows.append([member, kind, f"≤ {aim} ×", *cells, verdict(mine, aim * copy)])
    notes = (f"{results['slides']:,} slices on the line, {where}: memcpy takes {digits(copy)} ns a slice, the best of "
             f"hundreds. `slide` of prefix, block and block_jit, `advance` of the others.",)
    return Sheet(section, f"Aims: multiples of memcpy of the same array, {where}, by slices a window",
                 ("member", "kind", "aim", *(f"{w:,}" for w in AIM_WINDOWS), "verdict"), rows, notes)


def limits_sheet(limits: Sequence[Record], copy: float) -> Sheet:
    """What members cannot be faster than."""
    rows = [[r["limit"], r["kind"], digits(r["ns"]), f"{r['ns'] / copy:.1f}"] for r in limits]
    return Sheet("limits", "What sets the limit", ("what", "kind", "ns a slice", "× memcpy"), rows)


def way_of(member: str) -> str:
    """How the aims ask a member."""
    return "slide" if member in ("prefix", "block", "block_jit") else "advance"


def verdict(records: Sequence[Record], aim: float) -> str:
    """Whether all windows reach an aim in nanoseconds, and how many times over it the worst lies."""
    worst = max(r["ns"] for r in records if "ns" in r)
    return "reached" if worst <= aim else f"NOT reached: {worst / aim:.2f} × the aim"


def latency_sheets(records: Sequence[Record]) -> list[Sheet]:
    """Nanoseconds, combines and call times of single slides."""
    measures = (("ns", "latency ns", "nanoseconds of one slide, by a clock read in compiled code"),
                ("combines", "latency combines", "combines of one slide"),
                ("call_us", "latency calls", "microseconds of a call of `advance` with one slice, from Python"))
    return [latency_sheet(records, *each) for each in measures]


def latency_sheet(records: Sequence[Record], measure: str, section: str, title: str) -> Sheet:
    """The distribution of one measure, member by member."""
    extra = ("empty call",) if measure == "ns" else ()
    rows = [[f"{r['kind']}, {r['window']:,}", r["member"], *(digits(r[measure][share]) for share in SHARES),
             *(digits(r["empty_ns"]) for _ in extra)] for r in records if measure in r]
    return Sheet(section, f"Latency: {title}", ("kind, window", "member", *SHARES, *extra), rows)


def multi_sheets(results: Results) -> list[Sheet]:
    """Answers per second and memory with many ranges."""
    cases, sheets = results["cases"], []
    for (kind,) in unique(results["rates"], "kind"):
        mine = pick(results["rates"], kind=kind)
        rows = grid(mine, "case", cases, lambda r: measured(r, lambda r: digits(1e3 / r["ns"])))
        alone = [min(r["write_ns"] for r in mine if r["case"] == c and "ns" in r) for c in cases]
        rows.append(["writing alone", "fill", *(digits(1e3 / ns) for ns in alone)])
        sheets.append(Sheet(f"multi {kind}", f"{kind}: million answers a second, by ranges", ("member", "by", *cases),
                            rows, (SIGNS,)))
    return [*sheets, *memory_sheets(results)]


def memory_sheets(results: Results) -> list[Sheet]:
    """Bytes kept, and needed besides."""
    cases, sheets = results["cases"], []
    for kind in ("sum int64", "max float64"):
        mine = pick(results["memory"], kind=kind)
        rows = [[member, *memory_cells(pick(mine, member=member), cases)] for (member,) in unique(mine, "member")]
        title = f"{kind}: bytes kept between calls / most needed besides in one `advance`"
        notes = ("The answers themselves are not counted.", least_kept(mine, cases))
        sheets.append(Sheet(f"memory {kind}", title, ("member", *cases), rows, notes))
    return sheets


def least_kept(records: Sequence[Record], cases: Sequence[str]) -> str:
    """Who keeps the least in each case, of those that go slice by slice, and what SlickDeque keeps."""
    found = []
    for case in cases:
        kept = {r["member"]: r["kept"] for r in pick(records, case=case) if r["member"] in ONE_BY_ONE}
        least, deque = min(kept.values()), next(kept[m] for m in kept if m.startswith("slick_deque"))
        found.append(f"{case}: {' and '.join(m for m in kept if kept[m] == least)} {size(least)} ({size(deque)})")
    return f"Least kept by a member that goes slice by slice, and in parentheses SlickDeque: {'; '.join(found)}."


def memory_cells(records: Sequence[Record], cases: Sequence[str]) -> list[str]:
    """One member's bytes by case; one that serves a single range has one case."""
    found = {r["case"]: f"{size(r['kept'])} / {size(r['peak'])}" for r in records}
    return [found.get(case, "–" if len(found) == 1 else "…") for case in cases]


def size(count: float) -> str:
    """Bytes in few characters."""
    for unit, each in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= each:
            return f"{count / each:.3g} {unit}"
    return f"{count:.0f} B"


def ragged_sheets(results: Results) -> list[Sheet]:
    """Answers per second with gaps."""
    sheets = []
    for (kind,) in unique(results["rates"], "kind"):
        mine = [r | {"case": f"{r['density']:.0%}, {r['span']}"} for r in pick(results["rates"], kind=kind)]
        cases = [c for (c,) in unique(mine, "case")]
        rows = grid(mine, "case", cases, lambda r: measured(r, lambda r: f"{1e3 / r['ns']:,.0f}"), ("member", "way"))
        for name, field in (("memcpy", "memcpy_ns"), ("building the index", "index_ns")):
            rows.append([name, "", *(f"{1e3 / min(r[field] for r in mine if r['case'] == c):,.0f}" for c in cases)])
        sheets.append(Sheet(f"ragged {kind}", f"{kind}: million answers a second, by density and range in minutes",
                            ("member", "fed", *cases), rows))
    return sheets


def numerics_sheets(results: Results) -> list[Sheet]:
    """Worst errors and verdicts."""
    errors = results["errors"]
    cases = unique(errors, "data", "window")
    rows = []
    for (member,) in unique(errors, "member"):
        mine = {(e["data"], e["window"]): e for e in pick(errors, member=member)}
        rows.append([member, *(error_text(mine[c]) for c in cases), judgement(list(mine.values()))])
    headings = ("member", *(f"{data}, {window:,}" for data, window in cases), "verdict")
    notes = (f"Worst error of {', '.join(str(e['windows']) for e in pick(errors, member='recalc'))} windows, as a "
             f"multiple of the bound {results['bound']:g} · Σ|x| of the window itself; {results['slides']:,} slides.",
             "In parentheses: the member refuses these doubles. NaN: a trace of an infinity or NaN that has left. "
             "FAILS: over the bound.")
    return [Sheet("numerics", "Worst error of sums of doubles as a multiple of the bound", headings, rows, notes)]


def broken(results: Results) -> list[Record]:
    """The cases in which a member that may fold doubles breaks the bound or lets an infinity leave a trace."""
    return [e for e in results["errors"] if e["refused"] is None and not e["holds"]]


def error_text(error: Record) -> str:
    """One error: its size, what went wrong, and whether the member refuses."""
    worst = "NaN" if error["trace"] or error["worst"] is None else f"{error['worst']:.2g}"
    worst += "" if error["odd_right"] else ", wrong inf"
    worst += "" if error["holds"] else " FAILS"
    return f"({worst})" if error["refused"] else worst


def judgement(errors: Sequence[Record]) -> str:
    """Whether a member holds wherever it is legal, and whether it fails where it refuses."""
    legal = [e for e in errors if e["refused"] is None]
    failing = [e for e in errors if not e["holds"]]
    if legal:
        held = "legal, holds" if all(e["holds"] for e in legal) else "LEGAL, FAILS"
        return held if len(legal) == len(errors) else f"{held}; refused for the rest"
    return "refused, fails" if failing else "refused, holds"


def deque_sheets(results: Results) -> list[Sheet]:
    """Mean lengths beside both formulas."""
    rows = [[f"{r['window']:,}", f"{r['mean']:.3f} ± {r['error']:.3f}", f"{r['harmonic']:.3f}", f"{r['printed']:.3f}",
             str(r["longest"]), f"{r['keys']:,} × {r['looks']}"] for r in results["lengths"]]
    headings = ("slices a window", "mean length", "H_n", "Σ 1/i! (Eq. 7)", "longest seen", "keys × looks")
    return [Sheet("deque", "Mean length of SlickDeque's deque on i.i.d. input", headings, rows)]


SHEETS = {"final_single": single_sheets, "final_multi": multi_sheets, "final_ragged": ragged_sheets,
          "final_numerics": numerics_sheets, "deque_length": deque_sheets}
