"""Another thread of the program computes in Python while it trains.

## What it does

Looks for functions of the program that run in other Python threads and use 30 % of a core together
while it trains, by the system's count of their processor time. If TensorFlow's Python around the
calls of a typical captured step holds the step up for 10 % of it or more, the threads have their
share of that time. In steps too short to be sampled, all idle time without a cause counts. If the
captured steps are far shorter than the others, the difference is theirs: inside capture windows the
recorder shortens Python's switch interval.

## Why is this slow

Only one thread at a time runs Python. Each call of TensorFlow lets the interpreter's lock go, and
then waits until the other thread lets it go as well: 5 ms, Python's switch interval. So a step of
1 ms can take 6 ms. A thread that computes in NumPy or TensorFlow lets the lock go meanwhile, and
is counted as well: processor time does not tell them apart.

## What to do

Do the work of the thread in another process, before training, or in the dataset's `map`. If it only
has to run now and then, `sys.setswitchinterval(0.0005)` lets the training thread go on sooner.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.advice.rules.idle import OTHERS, SAMPLED_MS
from strategy_profiles.analysis.advice.rules.python_in_input import without_input_ms
from strategy_profiles.analysis.advice.rules.python_op import HELD_SHARE
from strategy_profiles.analysis.facts import Facts, Finding, finding, of_a_step, per_step
from strategy_profiles.analysis.steps import UNLIKE_THE_OTHERS
from strategy_profiles.reporting import units

KEY = "busy-thread"
ROWS = ("loop/steps/idle", "loop/steps")
NO_GAIN = "Python around the calls of a step is not an op of the replayed step."
CORES = 0.3
"""Processor time of all such threads per time of the loop, from which on they have a finding."""


def find(facts: Facts) -> Iterator[Finding]:
    wall, held_ms = facts.breakdown.mean_ms("wall"), of_threads_ms(facts)
    waits = ""
    if of_others := _of_other_steps(facts):
        wall, held_ms, waits = of_others
    if not wall or held_ms / wall < HELD_SHARE:
        return
    threads = facts.read_busy_threads()
    busiest, cores = threads[0], sum(each.cores for each in threads)
    line = busiest.line
    others = f" and {units.counted(len(threads) - 1, 'other')}" if threads[1:] else ""
    yield finding(
        facts,
        KEY,
        f"Other threads of the program use {units.share(cores)} of a core while it trains: "
        f"`{busiest.function}` at {line.place} (`{line.text}`){others}. Only one thread at a time "
        f"runs Python, and {waits or _waits(facts, wall)}.",
        "Do the work of that thread in another process (multiprocessing), before training, or in "
        "the dataset's map(). Where the thread must stay, sys.setswitchinterval(0.0005) lets the "
        "training thread go on sooner: by default it waits up to 5 ms after each call. A loop that "
        "asks again and again whether there is work uses the core, too: let it wait in the get() "
        "or put() of a queue.Queue, or in sleep().",
        per_step(facts, held_ms, wall, "derived" if waits else "measured"),
        place=line.place,
        cores=cores,
    )


def is_notable(facts: Facts) -> bool:
    """Whether other threads of the program may hold up the training thread."""
    return sum(each.cores for each in facts.read_busy_threads()) >= CORES


def _waits(facts: Facts, wall_ms: float) -> str:
    of_step = of_a_step(facts, _python_ms(facts), wall_ms)
    return f"for {of_step} the step is in Python while no replica runs an op"


def _of_other_steps(facts: Facts) -> tuple[float, float, str] | None:
    """A step on average, what it waits, and that as a text, if captured ones are far shorter: while
    a window is open the recorder has shortened the switch interval, so captured steps hardly wait
    for the lock. Of steps of few ms only some wait, so the median is not looked at."""
    wall_ms, mean_ms = facts.breakdown.mean_ms("wall"), facts.steps.mean_ms
    if not wall_ms or not mean_ms or wall_ms / mean_ms >= UNLIKE_THE_OTHERS:
        return None
    took, usual = map(units.milliseconds, (wall_ms, mean_ms))
    waits = (
        f"a step takes {usual} on average, a captured one {took}: the recorder shortens Python's "
        "switch interval while it captures, so the rest is waiting for the thread"
    )
    return (mean_ms, mean_ms - wall_ms, waits) if is_notable(facts) else None


def of_threads_ms(facts: Facts) -> float:
    """The part of the Python of a typical captured step that the threads have."""
    cores = sum(each.cores for each in facts.read_busy_threads())
    return min(cores, 1.0) * _python_ms(facts) if is_notable(facts) else 0.0


def _python_ms(facts: Facts) -> float:
    """TensorFlow's Python around the calls; of steps too short to be sampled, all idle time that
    has no other cause."""
    calls_ms, wall = without_input_ms(facts), facts.breakdown.mean_ms("wall")
    idle_ms = facts.all_idle_ms
    if not wall or wall >= SAMPLED_MS or idle_ms is None:
        return calls_ms
    return max(calls_ms, idle_ms - facts.held_up.held_ms(*OTHERS))
