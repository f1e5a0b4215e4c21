"""More replicas than CPU cores.

## What it does

Compares the replicas on CPU devices with the cores of the machine.

## Why is this slow

Virtual CPU devices share the cores: replicas beyond their number run in turn, and a collective
waits for the last.

## What to do

Compare the speed of strategies with at most as many replicas as cores. More still show how a
strategy behaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strategy_profiles.analysis.facts import Facts, Finding, finding

KEY = "shared-cores"
NO_GAIN = "With fewer replicas other ops run than the recorded ones; only a run with them tells."


def num_sharing(facts: Facts) -> tuple[int, int] | None:
    """How many replicas share how many cores; None if each has one of its own."""
    on_cpu, cpus = _on_cpu(facts)
    return None if cpus is None or on_cpu < 2 or on_cpu <= cpus else (on_cpu, cpus)


def more_may_help(facts: Facts) -> bool:
    """Whether fewer replicas run on CPUs than the machine has cores, if it is known."""
    on_cpu, cpus = _on_cpu(facts)
    return cpus is None or on_cpu < cpus


def _on_cpu(facts: Facts) -> tuple[int, int | None]:
    """How many replicas run on CPUs, and the number of cores; None if that is not known."""
    cpus = facts.environment.host.cpus if facts.environment else None
    return sum("/device:CPU:" in device for device in facts.segment.replica_devices), cpus


def find(facts: Facts) -> Iterator[Finding]:
    sharing = num_sharing(facts)
    if sharing is None:
        return
    on_cpu, cpus = sharing
    yield finding(
        facts,
        KEY,
        f"{on_cpu} replicas share {cpus} CPU cores and run in turn, so more replicas cannot be "
        "faster here.",
        f"On this machine, compare the speed of strategies with at most {cpus} replicas only. "
        "More replicas still show how a strategy behaves.",
        None,
        num_replicas=on_cpu,
        cpus=cpus,
    )


def edits(facts: Facts, result: Finding) -> dict[str, Any]:
    """One replica for each core; only of one process, whose devices are all CPUs."""
    is_one = (
        facts.segment.num_workers == 1
        and facts.segment.num_replicas == result.evidence["num_replicas"]
    )
    return {"devices": f"cpu:{result.evidence['cpus']}"} if is_one else {}
