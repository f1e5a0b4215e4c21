"""The key numbers of a segment, as every page, the report and the command line show them.

The live view shows those of them that the newest steps and the newest capture give, by the same
functions. Each number is of one definition in `reporting.definitions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from strategy_profiles.analysis.breakdown import NO_OPS
from strategy_profiles.analysis.captured_steps import unlike_others_ms
from strategy_profiles.analysis.communication import CollectiveUse, Communication
from strategy_profiles.analysis.efficiency import efficiency
from strategy_profiles.answers.answer import KeyNumber
from strategy_profiles.reporting import units
from strategy_profiles.reporting.units import MISSING

if TYPE_CHECKING:
    from strategy_profiles.analysis.facts import Facts
    from strategy_profiles.analysis.loop_pace import LoopPace
    from strategy_profiles.analysis.steps import StepTimes
    from strategy_profiles.analysis.stragglers import Stragglers

NO_SPANS = "needs a capture window"
UNLIKE_THE_MEDIAN = 0.03
"""The mean step is added if it differs from the median by this share."""


def key_numbers(facts: Facts) -> tuple[KeyNumber, ...]:
    """The key numbers of a segment, those of its loop first."""
    steps = facts.steps
    low, high = steps.quantile_ms(0.1), steps.quantile_ms(0.9)
    counted = units.counted(int(steps.timed.sum()), "step")
    spread = f"10 to 90 %: {units.number(low)} to {units.milliseconds(high)}"
    source: Literal["measured", "derived"] = (
        "derived" if facts.breakdown.has_derived_steps else "measured"
    )
    if steps.synced_ms is not None:  # a call's time may be that of its launches
        spread += f"; mean from sync to sync: {units.milliseconds(steps.synced_ms)}"
    return (
        loop_time(facts.pace, steps, _loop_note(facts), source),
        loop_throughput(facts.pace, steps),
        step_time(steps, f"median of {counted}; {spread}", source),
        throughput(steps, _mean_step(steps)),
        slowest(facts.stragglers),
        loss(
            steps,
            f"the last one; {units.number(steps.first_loss, 4)} at the start",
            tells_every_loss=facts.segment.is_of_lab,
        ),
        _parallel_efficiency(facts),
        exposed(facts),
        traffic(facts.communication),
        busbw(facts.communication, in_unlike_steps(facts)),
        _capture_overhead(facts),
    )


def _loop_note(facts: Facts) -> str:
    between = facts.account.row("loop/between")
    first = "without the first step; " if facts.account.first_ms else ""
    usual = facts.account.share_of_usual(between) if between else None
    return "" if usual is None else f"{first}{units.share(usual)} between steps"


def loop_time(
    pace: LoopPace,
    steps: StepTimes,
    note: str = "",
    source: Literal["measured", "derived"] = "measured",
) -> KeyNumber:
    value = pace.ms_per_step
    return made_number(
        "loop_time", value, units.milliseconds(value), note, steps.why_no_time, source
    )


def loop_throughput(pace: LoopPace, steps: StepTimes) -> KeyNumber:
    value = pace.examples_per_second
    text = units.rate(value, "examples")
    return made_number("loop_throughput", value, text, "", why_no_examples(steps), "derived")


def why_no_examples(steps: StepTimes) -> str:
    """Return why the throughput of timed steps is not known."""
    if not steps.timed.any():
        return steps.why_no_time
    return steps.unknown.get("examples", "no step recorded its examples")


def why_no_loss(unknown: Mapping[str, str]) -> str:
    """Return why no loss is known; `unknown` has the reasons of a profile or of its steps."""
    return unknown.get("loss", "no step recorded a loss, or none was a finite number")


def step_time(
    steps: StepTimes, note: str, source: Literal["measured", "derived"] = "measured"
) -> KeyNumber:
    value = steps.median_ms
    return made_number(
        "step_time", value, units.milliseconds(value), note, steps.why_no_time, source
    )


def throughput(steps: StepTimes, note: str = "") -> KeyNumber:
    """Examples of the timed steps over their wall time."""
    value = steps.examples_per_second
    reason = why_no_examples(steps)
    text = units.rate(value, "examples")
    return made_number("throughput", value, text, note, reason, "derived")


def _mean_step(steps: StepTimes) -> str:
    """The mean step behind the throughput, where it would not fit to the median beside it."""
    mean, median = steps.mean_ms, steps.median_ms
    if not mean or not median or abs(mean / median - 1) < UNLIKE_THE_MEDIAN:
        return ""
    return f"mean step {units.milliseconds(mean)}"


def slowest(lateness: Stragglers) -> KeyNumber:
    """Return the lateness of the slowest replica; `none` if no replica is slow."""
    if lateness.straggler is None:
        text = MISSING if lateness.reason else "none"
        note, source = lateness.reason or "no replica stands out", lateness.source
        return KeyNumber("slowest", None, text, note, None if lateness.reason else source)
    late = lateness.straggler
    is_waited_for = bool(lateness.replicas)  # not of workers of parameter servers
    what = (
        "later than the others" if is_waited_for else "whose steps take longer: none waits for it"
    )
    note = f"{late.name}, {what}"
    if also := [item.name for item in lateness.late if item.replica != late.replica]:
        note += f"; {units.listed(also)} as well"
    return KeyNumber(
        "slowest", late.late_ms, units.milliseconds(late.late_ms), note, lateness.source
    )


def loss(steps: StepTimes, note: str, *, tells_every_loss: bool) -> KeyNumber:
    """The last loss. Runs of the lab tell that of every step, so a missing one is no number."""
    if tells_every_loss and steps.is_loss_lost:
        return made_number("loss", None, MISSING, "", "NaN or infinity")
    value = steps.last_loss
    return made_number("loss", value, units.number(value, 4), note, why_no_loss(steps.unknown))


def exposed(facts: Facts) -> KeyNumber:
    """Exposed communication: the breakdown counts a moment as wait or transfer only where the
    replica computes nothing."""
    if facts.segment.num_replicas == 1 and not facts.communication.collectives:
        reason = facts.steps.unknown.get("collectives", "one replica: no communication")
        return made_number("exposed", None, MISSING, "", reason)
    is_captured = facts.breakdown.source == "measured"
    wall, wait, transfer = map(facts.breakdown.mean_ms, ("wall", "wait", "transfer"))
    value = transfer + (wait or 0.0) if is_captured and transfer is not None else None
    note = f"{units.share(value / wall)} of a captured step" if value is not None and wall else ""
    note += _length_of_unlike(facts) if note else ""
    why = facts.breakdown.reason or ""
    reason = why if is_captured or why.startswith(NO_OPS) else NO_SPANS
    return made_number("exposed", value, units.milliseconds(value), note, reason, "derived")


def traffic(measured: Communication) -> KeyNumber:
    """Bytes of all collectives of a step."""
    value = measured.collective_bytes if measured.collectives else None
    return made_number(
        "traffic", value, units.size(value), "per step", measured.why_no_bytes, "derived"
    )


def busbw(measured: Communication, in_steps: str = "") -> KeyNumber:
    """Bus bandwidth of the main collective: a mean with those of 8 bytes would say nothing.

    `in_steps` is that of `in_unlike_steps`.
    """
    main = measured.main
    value = main.busbw_gbps if main else None
    text, note = units.bandwidth(value), f"{calls_note(main)}{in_steps}" if main else ""
    return made_number("busbw", value, text, note, measured.why_no_busbw, "derived")


def calls_note(use: CollectiveUse | None) -> str:
    """The op, and how many calls a step if a number is of several: `all-reduce, 2 calls a step`."""
    if use is None:
        return ""
    return use.op if use.per_step <= 1 else f"{use.op}, {use.per_step:.3g} calls a step"


def in_unlike_steps(facts: Facts) -> str:
    """`, in captured steps of 93.5 ms` where their length is unlike that of the others."""
    length = _length_of_unlike(facts)
    return length and f", in captured steps{length}"


def _parallel_efficiency(facts: Facts) -> KeyNumber:
    measured = efficiency(facts.breakdown)
    factors = {
        "balance": measured.load_balance,
        "communication": measured.communication,
        "orchestration": measured.orchestration,
    }
    note = " × ".join(f"{name} {units.share(factor)}" for name, factor in factors.items())
    if facts.segment.num_replicas == 1:  # nothing to balance, and nothing to communicate with
        note = "share of a step in which the replica computes"
    note += in_unlike_steps(facts)
    text = units.share(measured.parallel)
    return made_number(
        "parallel_efficiency", measured.parallel, text, note, measured.reason, "derived"
    )


def _length_of_unlike(facts: Facts) -> str:
    """` of 93.5 ms`, the length of captured steps, where it is unlike that of the others."""
    captured_ms = unlike_others_ms(facts.breakdown, facts.steps.median_ms)
    return f" of {units.milliseconds(captured_ms)}" if captured_ms else ""


def _capture_overhead(facts: Facts) -> KeyNumber:
    cost = facts.capture
    ratio = cost.overhead_ratio
    text = MISSING if ratio is None else f"{ratio:.3f} ×"
    windows, steps = (
        units.counted(cost.num_windows, "window"),
        units.counted(cost.num_steps, "step"),
    )
    note = f"{windows}, {steps} in full"
    return made_number("capture_overhead", ratio, text, note, cost.reason, "derived")


def made_number(
    key: str,
    value: float | None,
    text: str,
    note: str,
    reason: str | None,
    source: Literal["measured", "derived"] = "measured",
) -> KeyNumber:
    """With `note` if there is a value, with `reason` if it is missing."""
    if text == MISSING:
        return KeyNumber(key, None, text, reason or "not recorded", None)
    return KeyNumber(key, value, text, note, source)
