"""Other programs use the machine's cores.

## What it does

Compares the CPU time of this run's processes with that of the whole machine, which the launcher
samples every two seconds (in a program of one process, the recorder does so). Other programs, or
other virtual machines on the same hardware, use a tenth of the cores or more, and hardly any core
is free.

## Why is this slow

The run waits for cores that others use. Replicas and collectives wait for the slowest, so a step
can take longer than the share of the others suggests, and steps vary.

## What to do

End the other programs, or measure on another machine. Do not compare this run with runs on a
quiet machine.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.analysis.machine_load import NOTABLE_SHARE

KEY = "busy-machine"
NO_GAIN = "Other programs on the machine are not part of the recorded step."


def find(facts: Facts) -> Iterator[Finding]:
    load = facts.load
    if load is None or not load.is_full:
        return
    others = [
        f"{what} {cores:.1f}"
        for what, cores in (
            ("programs outside of this run used", load.other_cores),
            ("other virtual machines got", load.stolen_cores),
        )
        if cores >= NOTABLE_SHARE * load.num_cores
    ]
    if not others:
        return
    said = " and ".join(others)
    yield finding(
        facts,
        KEY,
        f"{said[0].upper()}{said[1:]} of the machine's {load.num_cores} CPU cores while the run "
        f"used {load.run_cores:.1f}, and hardly any core was free.",
        "End the other programs, or measure on another machine, before you compare this run.",
        None,
        num_cores=load.num_cores,
        run_cores=load.run_cores,
        other_cores=load.other_cores,
        stolen_cores=load.stolen_cores,
    )
