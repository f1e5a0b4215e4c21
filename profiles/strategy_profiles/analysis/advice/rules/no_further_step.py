"""No step comes any more, although the loop is not over.

## What it does

Says for how long, and at which line each worker is. Of a run that was ended then, by Ctrl-C or a
signal, how long it had been so. It is said from 5 s on, and from 20 usual steps and twice the
longest time between two steps before.

## Why is this slow

The program waits: for a lock, a batch, a file, or a worker that does not take part in a collective.

## What to do

Look at the line first of the worker that does not wait for the others. `py-spy dump --pid PID`
prints where every thread of a process is.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.analysis.stuck import stuck_advice, stuck_sentence

KEY = "no-further-step"
NO_GAIN = "No step came; there is none to predict."


def find(facts: Facts) -> Iterator[Finding]:
    stuck = facts.stuck
    if stuck:
        for_s = max(item.for_ms for item in stuck) / 1e3
        yield finding(facts, KEY, stuck_sentence(stuck), stuck_advice(stuck), None, for_s=for_s)
