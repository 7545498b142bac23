"""The controller of a stream: a pure state machine from readings to decisions.

It acts when utilisation has been high for a while, first with longer triggers, as far as every query's freshness bound
allows, then with drop boxes, as far as every query's error bound allows. Where that is not enough it says so, and the
lag grows. It goes back one step at a time when utilisation has been low for longer. Time comes in with the readings, so
equal readings give equal decisions, and a replay repeats them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from weft.cost.shedding.triggers import shortest_trigger
from weft.errors import PlanError
from weft.optimize.shed.allocate import allocate
from weft.optimize.shed.load import SheddableQuery, StreamLoad, StreamSettings
from weft.optimize.shed.reasons import percent, why_dropping, why_now

SAME = 1e-6


@dataclass(frozen=True)
class ControllerPolicy:
    """When to act and how far: seconds, shares of the machine, triggers between two decisions, and by how much a step
    back may change a setting."""

    act_above: float = 0.85
    act_after: float = 180.0
    target: float = 0.7
    recover_below: float = 0.5
    recover_after: float = 600.0
    dwell: int = 20
    step: float = 2.0

    def __post_init__(self) -> None:
        if not (0 < self.recover_below < self.target < self.act_above and self.step > 1):
            raise PlanError("a controller goes back and forth unless recover_below < target < act_above and step > 1.")


@dataclass(frozen=True)
class Reading:
    """One trigger: when it ended, and what its rows and the machine were measured at.

    `utilisation` is the seconds of work that a second's arrivals make: rows that wait from before are not in it, or the
    controller would drop more and more while the stream catches up.
    """

    at: float
    utilisation: float
    load: StreamLoad


@dataclass(frozen=True)
class Decision:
    """What changes and why: `kind` is lengthen, shed, recover or overloaded; `expected` the utilisation to come."""

    at: float
    kind: str
    settings: StreamSettings
    utilisation: float
    expected: float
    reason: str


@dataclass(frozen=True)
class ControllerState:
    """What the controller remembers: the trigger it was started with, what it has set, since when utilisation is high
    or low, the triggers since the last decision, and whether it has said that it can do no more."""

    base_trigger: float
    settings: StreamSettings
    high_since: float | None = None
    low_since: float | None = None
    triggers: int = 0
    overloaded: bool = False


def start_controller(trigger: float) -> ControllerState:
    """A controller of a stream that runs as its user started it, `trigger` seconds between two triggers."""
    if not trigger > 0:
        raise PlanError(f"the seconds between triggers must be positive, not {trigger:g}.")
    return ControllerState(trigger, StreamSettings(trigger))


def observe(state: ControllerState, reading: Reading, queries: Sequence[SheddableQuery],
            policy: ControllerPolicy = ControllerPolicy()) -> tuple[ControllerState, Decision | None]:
    """The state after a trigger, and a decision if it is time for one: soon after another only where the lag grows."""
    state = count_trigger(state, reading, policy)
    due = state.triggers >= policy.dwell or reading.utilisation > 1
    decision = decide(state, reading, queries, policy) if due else None
    if decision is None:
        return state, None
    over = decision.kind == "overloaded"
    return ControllerState(state.base_trigger, decision.settings, overloaded=over), decision


def count_trigger(state: ControllerState, reading: Reading, policy: ControllerPolicy) -> ControllerState:
    """The state with one trigger more; a stretch of high or low utilisation begins, goes on or is over."""
    high = began(state.high_since, reading.at) if reading.utilisation > policy.act_above else None
    low = began(state.low_since, reading.at) if reading.utilisation < policy.recover_below else None
    return replace(state, high_since=high, low_since=low, triggers=state.triggers + 1)


def began(since: float | None, now: float) -> float:
    """When a stretch began; a clock that was set back begins it anew."""
    return now if since is None or since > now else since


def decide(state: ControllerState, reading: Reading, queries: Sequence[SheddableQuery],
           policy: ControllerPolicy) -> Decision | None:
    """What to do about a stretch that has lasted long enough."""
    load = measured_load(state.settings, reading)
    if state.high_since is not None and reading.at - state.high_since >= policy.act_after:
        return relieve(state, reading, load, queries, policy)
    if state.low_since is not None and reading.at - state.low_since >= policy.recover_after:
        return recover(state, reading, load, queries, policy)
    return None


def measured_load(settings: StreamSettings, reading: Reading) -> StreamLoad:
    """The load, scaled to the utilisation that was measured: what it is made of is known less well than the whole."""
    modelled = settings.utilisation(reading.load)
    return reading.load.scaled(reading.utilisation / modelled) if modelled > 0 else reading.load


def relieve(state: ControllerState, reading: Reading, load: StreamLoad, queries: Sequence[SheddableQuery],
            policy: ControllerPolicy) -> Decision | None:
    """Settings that bring utilisation down to the target, or as near as bounds allow."""
    words = why_now("above", policy.act_above, policy.act_after, reading.utilisation)
    longest = longest_trigger(state.base_trigger, queries)
    trigger = max(state.base_trigger, shortest_trigger(load.fixed, load.rows_work(), policy.target))
    if trigger <= longest:
        return decision_of("lengthen", reading, load, StreamSettings(trigger), words)
    found = allocate(queries, load.scans, policy.target - load.fixed / longest)
    settings = StreamSettings(longest, found.shares)
    if not found.fits and state.overloaded and same(settings, state.settings):
        return None
    kind = "shed" if found.fits else "overloaded"
    more = why_dropping(settings, found, queries, state.base_trigger, settings.utilisation(load))
    return decision_of(kind, reading, load, settings, " ".join((words, *more)))


def recover(state: ControllerState, reading: Reading, load: StreamLoad, queries: Sequence[SheddableQuery],
            policy: ControllerPolicy) -> Decision | None:
    """One step back: first more rows, then shorter triggers, as long as the target is kept."""
    settings = kept_more(state.settings, load, queries, policy) if state.settings.shares else triggered_sooner(
        state, load, policy)
    if same(settings, state.settings):
        return None
    words = why_now("below", policy.recover_below, policy.recover_after, reading.utilisation)
    return decision_of("recover", reading, load, settings, f"{words} One step back.")


def kept_more(settings: StreamSettings, load: StreamLoad, queries: Sequence[SheddableQuery],
              policy: ControllerPolicy) -> StreamSettings:
    """Shares for the present load, none more than a step greater than before."""
    wanted = dict(allocate(queries, load.scans, policy.target - load.fixed / settings.trigger).shares)
    steps = {scan: max(0.0, min(wanted.get(scan, 1.0), share * policy.step) - share) for scan, share in settings.shares}
    before = settings.utilisation(load)
    more = sum(scan.work * steps.get(scan.scan, 0.0) for scan in load.scans)
    # Where some scans keep more than they would now be given, the others get less, so that the target is kept.
    part = min(1.0, max(0.0, policy.target - before) / more) if more else 0.0
    shares = ((scan, share + part * steps[scan]) for scan, share in settings.shares)
    return replace(settings, shares=tuple((scan, share) for scan, share in shares if share < 1 - SAME))


def triggered_sooner(state: ControllerState, load: StreamLoad, policy: ControllerPolicy) -> StreamSettings:
    """A trigger for the present load, at most a step shorter and never longer than it is."""
    trigger = state.settings.trigger
    needed = shortest_trigger(load.fixed, load.rows_work(), policy.target)
    return StreamSettings(min(trigger, max(state.base_trigger, needed, trigger / policy.step)))


def longest_trigger(base: float, queries: Sequence[SheddableQuery]) -> float:
    """The longest trigger that every query accepts; one without a freshness bound accepts what there was at first."""
    return max(base, min((q.freshness if q.freshness is not None else base for q in queries), default=base))


def same(one: StreamSettings, other: StreamSettings) -> bool:
    """Whether two settings differ by rounding alone."""
    scans = {scan for settings in (one, other) for scan, _ in settings.shares}
    pairs = [(one.trigger, other.trigger), *((one.share_of(s), other.share_of(s)) for s in scans)]
    return all(abs(a - b) <= SAME * max(a, b) for a, b in pairs)


def decision_of(kind: str, reading: Reading, load: StreamLoad, settings: StreamSettings, words: str) -> Decision:
    """A decision with its reason: what was seen, what is set, what is expected."""
    expected = settings.utilisation(load)
    kept = "".join(f", {scan} keeps {percent(share)} of its rows" for scan, share in settings.shares)
    reason = f"{words} Triggers every {settings.trigger:.4g} s{kept}; expected utilisation {percent(expected)}."
    return Decision(reading.at, kind, settings, reading.utilisation, expected, reason)
