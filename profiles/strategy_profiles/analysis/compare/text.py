"""A comparison in sentences: its answer, and what would make it surer."""

from __future__ import annotations

import math
import time

from strategy_profiles.analysis.compare.comparison import Comparison
from strategy_profiles.analysis.compare.metrics import MetricChange
from strategy_profiles.analysis.compare.repetitions import (
    DIFFERENCE,
    PILOT_RUNS,
    POWER,
    runs_assumed,
    runs_needed,
)
from strategy_profiles.analysis.compare.run_comparison import RunComparison
from strategy_profiles.analysis.compare.run_spread import ASSUMED_SPREAD
from strategy_profiles.analysis.compare.run_time import RunTime
from strategy_profiles.reporting import units

SQRT_2 = 2**0.5
_EQUAL, _SAME = 5e-4, "equally long"
SAME_BATCH = 0.01
"""Greatest difference in examples per step that a smaller last batch may cause."""
TOO_MANY = 100
"""Runs a side that are more than anyone records: the advice is another one then."""
_AIM, _SURE, _ASSUMED = (f"{100 * share:g} %" for share in (DIFFERENCE, POWER, ASSUMED_SPREAD))
LONG_S = 30.0
"""Steady steps to aim for. Measured on a busy machine with two cores: the medians of stretches of
one run varied by 16 % (standard deviation) if these lasted 1 s, by 10 % for 11 s, by 8 % for 33 s,
by 2 % for 83 s; runs of 60 steps of 9 ms differed by 20 %."""


def answer(compared: RunComparison) -> tuple[str, str]:
    """Return the verdict in a few words, and the sentence that continues it.

    The loop's time comes first, then the median step, on which the verdict rests. If the batches
    differ, the throughput is compared: first if there is no verdict, as a step of another batch is
    another work. A known explanation follows.
    """
    verdict, rest = _of_times(compared)
    explained = f" {compared.explanation}" if compared.explanation else ""
    if not has_other_batches(compared):
        return verdict, rest + explained
    rate = compared.metric("loop_examples_per_second")
    a, b = (rate.a, rate.b) if rate.a and rate.b else (compared.times.a_rate, compared.times.b_rate)
    assert a
    assert b
    change = f"B trains {units.share(abs(b / a - 1))} {'more' if b > a else 'fewer'}"
    change, numbers = f"{change} examples per second", f" than A, {b:,.0f} against {a:,.0f}"
    if compared.times.unit == "step":
        return change, f"{numbers}; the batches differ. {verdict}{rest}{explained}"
    return verdict, f"{rest} The batches differ: {change}{numbers}.{explained}"


def has_other_batches(compared: RunComparison) -> bool:
    """Whether a step of A trains another number of examples than one of B."""
    times = compared.times
    a, b = times.a_rate, times.b_rate
    return bool(a and b) and abs(times.ratio * (b or 0.0) / (a or 1.0) - 1) >= SAME_BATCH


def against_earlier(compared: RunComparison) -> str:
    """Return what the run of B has gained over an earlier one of its program, A, as measured."""
    rate, loop = compared.metric("loop_examples_per_second"), compared.metric("loop_time_ms")
    begun = [side[0].timed.started_ns / 1e9 for side in (compared.a, compared.b)]
    days = [time.strftime("%Y-%m-%d", time.localtime(at_s)) for at_s in begun]
    day = "" if days[0] == days[1] else f"{days[0]} "
    when = f"the run of {day}{time.strftime('%H:%M', time.localtime(begun[0]))}"
    batches = {side[0].global_batch_size for side in (compared.a, compared.b)}
    if len(batches) > 1 and rate.a and rate.b:  # a step of another batch is another work
        faster, numbers = rate.b / rate.a, f"{rate.b:,.0f} examples/s, was {rate.a:,.0f}"
    elif loop.a and loop.b:
        before = units.milliseconds(loop.a)
        faster = loop.a / loop.b
        numbers = f"{units.milliseconds(loop.b)} per step of the loop, was {before}"
    else:
        return ""
    if abs(faster - 1) < DIFFERENCE:
        return f"About as fast as {when}: {numbers}."
    if faster < 1:
        return f"{units.number(1 / faster)} times as slow as {when}: {numbers}."
    return f"{units.number(faster)} times as fast as {when}: {numbers}."


def _of_times(compared: RunComparison) -> tuple[str, str]:
    times = compared.times
    if compared.is_with_itself:
        which = f"segment {compared.a_segment} of {compared.a[0].name}"
        return "A and B are the same", f": {which} is compared with itself."
    loop, step = compared.metric("loop_time_ms"), compared.metric("step_time_ms")
    change, sides = _lead(loop if loop.change is not None else step)
    lengths = _lengths(step)
    if loop.change is not None:
        lengths = f"{_lengths(loop)}; the median step takes {_size(step)}, {lengths}"
    if times.unit == "step":
        which = "segments of one run" if compared.is_one_run else "runs"
        return change, f"{sides} in these two {which}: {lengths}."
    difference = f"{change}{sides}, {lengths}."
    if times.is_different:
        is_same = loop.change is None or loop.change * (times.ratio - 1) > 0
        by = "" if is_same else " by its median step, not by its loop"
        return f"{times.verdict}{by}", f". {difference}"
    if times.reason:
        return "Cannot tell which is faster", f": {times.reason}. {difference}"
    return "Cannot tell which is faster", f". {difference} This may be noise."


def _lead(item: MetricChange) -> tuple[str, str]:
    """Return by how much a time differs, and between what."""
    size = _size(item)
    whole = "The loop takes {} per step" if item.metric == "loop_time_ms" else "A step takes {}"
    return whole.format(size), " in A and B" if size == _SAME else " in B than in A"


def remarks(compared: RunComparison) -> tuple[str, ...]:
    """Return how sure the answer is and what would make it surer, a sentence or two each."""
    times = compared.times
    if compared.is_with_itself:
        return ("Name another run, or another segment of this one.",)
    texts = [_pairs(times), longer_runs(compared)]
    if times.unit == "step":
        texts.append(_between_runs(compared))
    elif times.pair_spread is not None:
        texts.append(_power(times))
    return tuple(text for text in texts if text)


def change_text(item: MetricChange) -> str:
    """Return the change as `+4.2 %`, or as a factor if it exceeds ten."""
    if item.change is None or item.a is None or item.b is None:
        return units.MISSING
    return units.change_between(item.a, item.b)


def change_interval(item: MetricChange) -> str:
    """Return the 95 % interval of the change, `+1.0 to +7.4 %`; empty with too few runs.

    Also empty if it has no width, as of bytes that are the same in every run.
    """
    if item.interval is None or abs(item.change or 0.0) >= units.AS_FACTOR:
        return ""
    low, high = (f"{100 * end:+.1f}" for end in item.interval)
    return "" if low == high else f"{low} to {high} %"


def longer_runs(compared: RunComparison) -> str:
    """Return the advice to record longer runs; empty if these are long, or differ little anyway."""
    times, shortest = compared.times, min(_run_times(compared), key=lambda time: time.length_s)
    if shortest.length_s >= LONG_S or compared.is_one_run:
        return ""
    spread = None if times.pair_spread is None else times.pair_spread / SQRT_2
    if compared.spread is not None:
        spread = compared.spread.spread
    if spread is not None and spread < DIFFERENCE:
        return ""
    differ = "may differ" if spread is None else f"differ by {units.share(spread)}"
    steps = math.ceil(LONG_S * 1e3 / shortest.median_ms / 100) * 100
    makes = f"--steps {steps} makes" if compared.has_specs else f"{steps:,} steps make"
    return (
        f"Record longer runs first: the shortest has {units.seconds(shortest.length_s)} of steady "
        f"steps, and runs that short {differ} because a slow spell of the machine outlasts them. "
        f"More repetitions help little then; {makes} them about {LONG_S:g} s long."
    )


def _run_times(compared: RunComparison) -> list[RunTime]:
    return [run.timed.time for run in (*compared.a, *compared.b)]


def _pairs(times: Comparison) -> str:
    """What the interval comes from; empty without pairs."""
    if not times.pairs:
        return ""
    text = f"The interval comes from {len(times.pairs)} pairs of consecutive runs."
    if times.num_left_out:
        text += f" {units.counted(times.num_left_out, 'run')} without such a neighbour is left out."
    return text


def _between_runs(compared: RunComparison) -> str:
    times, spread = compared.times, compared.spread
    if spread is None and not compared.has_specs:
        return (
            "How much two runs of one program differ on this machine is not known. One run a side "
            f"cannot tell which is faster. Record each program {PILOT_RUNS} times or more, in "
            "turns (strategy-lab trace -o A-1 program.py), and compare all runs: "
            "strategy-lab compare A-1 A-2 --against B-1 B-2"
        )
    if spread is None:
        return (
            "How much two runs of one spec differ on this machine is not known: this folder has "
            "too few other runs of these specs since the machine started. One run a side cannot "
            "tell which is faster. Repeat them in turns: strategy-lab run A.yaml --interleave "
            f"B.yaml --repeat auto. It records {PILOT_RUNS} runs of each, and then as many as find "
            f"{_AIM} with {_SURE} probability with the difference seen: "
            f"{runs_assumed(SQRT_2 * ASSUMED_SPREAD)} if runs differ by {_ASSUMED}, as is usual "
            "beside other programs."
        )
    number = runs_needed(spread.pair_spread, spread.freedom)
    usual = units.share(spread.usual_difference)
    is_small = abs(times.ratio - 1) <= spread.usual_difference
    return (
        f"{spread.num_runs} other runs of these specs on this machine differ by "
        f"{units.share(spread.spread)} (standard deviation), so 97 of 100 pairs of runs with "
        f"equal specs differ by less than {usual}: this difference is "
        f"{'within' if is_small else 'larger than'} that. {_repeat(number)}"
    )


def _repeat(number: int) -> str:
    """Return the advice on how many runs find the difference that repetitions are planned for."""
    if number > TOO_MANY:
        return (
            f"To find {_AIM} with {_SURE} probability would take {number:,} runs of each. "
            "First find out why runs of one spec differ so much."
        )
    return (
        f"To find {_AIM} with {_SURE} probability, repeat each {number} times, in turns: "
        f"strategy-lab run A.yaml --interleave B.yaml --repeat {number}"
    )


def _power(times: Comparison) -> str:
    assert times.runs_needed is not None
    number = len(times.pairs) or min(times.num_runs)
    text = (
        f"{number} runs a side find a difference of {units.share(times.difference_found)} with "
        f"{_SURE} probability"
    )
    if times.runs_needed <= number:
        return f"{text}."
    return f"{text}. To find {_AIM}, repeat each {times.runs_needed:,} times, in turns."


def _size(item: MetricChange) -> str:
    assert item.change is not None
    if abs(item.change) < _EQUAL:
        return _SAME
    return f"{units.share(abs(item.change))} {'longer' if item.change > 0 else 'less'}"


def _lengths(item: MetricChange) -> str:
    """`22.1 ms against 20.2 ms`, with the interval of the change if it is known."""
    interval = change_interval(item)
    sure = f" (95 % confidence interval {interval})" if interval else ""
    return f"{units.milliseconds(item.b)} against {units.milliseconds(item.a)}{sure}"
