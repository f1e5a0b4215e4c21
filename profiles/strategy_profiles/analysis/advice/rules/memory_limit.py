"""Memory is nearly full.

## What it does

Compares the highest peak with the limit, if it is recorded: the memory of the machine for the
processes of a run on it, `gpu_memory_mb` for logical GPUs. At least 90 % is used. The memory of
whole GPUs and the limit of a container are not compared.

## Why is this slow

The next larger batch or variable ends the run. Before that, the system swaps, and TensorFlow's
allocator waits for memory to be freed.

## What to do

Use a smaller batch per replica, fewer replicas on the device, or a smaller model; check whether
memory grows over the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.analysis.memory import PROCESS
from strategy_profiles.reporting import units

KEY = "memory-limit"
NO_GAIN = "It is about memory, not about the length of a step."
NEARLY_FULL = 0.9


def find(facts: Facts) -> Iterator[Finding]:
    """The fullest memory whose limit is known."""
    known = [*_of_host(facts), *_of_devices(facts)]
    what, used, limit = max(known, key=lambda item: item[1] / item[2], default=("", 0.0, 1.0))
    if used / limit < NEARLY_FULL:
        return
    yield finding(
        facts,
        KEY,
        f"{what} used {units.size(used)} of {units.size(limit)} ({units.share(used / limit)}).",
        "Use a smaller global batch, fewer replicas or a smaller model, and check on the page Why "
        "whether memory keeps growing.",
        None,
        memory_of=what,
        peak_bytes=used,
        limit_bytes=limit,
    )


def _of_host(facts: Facts) -> Iterator[tuple[str, float, float]]:
    """Processes of one machine together; of several machines it is not known which is where."""
    limit = facts.environment.host.memory_bytes if facts.environment else None
    own = [item for item in facts.memory if item.device == PROCESS]
    if limit and own and facts.num_hosts <= 1:
        what = "The process" if len(own) == 1 else f"The {len(own)} processes"
        yield what, float(sum(item.peak_bytes for item in own)), float(limit)


def _of_devices(facts: Facts) -> Iterator[tuple[str, float, float]]:
    limit_mb: Any = facts.segment.spec.get("gpu_memory_mb")
    if not isinstance(limit_mb, int) or limit_mb <= 0:
        return
    for item in facts.memory:
        if "GPU:" in item.device:
            name = item.device.rpartition("/device:")[2]
            yield name, float(item.peak_bytes), limit_mb * 2.0**20
