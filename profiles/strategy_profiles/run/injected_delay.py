"""The delays that the lab itself put into a segment's replicas: the op that sleeps, and how long.

A capture measures the op. Steps without a capture have the length from the spec: the replica sleeps
at least that long before its gradients are ready.
"""

from __future__ import annotations

import re

from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.tensorflow_names import PYTHON_OPS
from strategy_profiles.spec.limits import LONGEST_LENGTH_NS

OP = "injected_delay"
"""Name of the op that sleeps; TensorFlow puts the scope of its replica before it."""
_OP = re.compile(rf"(?:.*/)?{OP}(?:_\d+)?")
_LONGEST_MS = LONGEST_LENGTH_NS / 1e6


def is_injected(name: str, op: str) -> bool:
    """Return whether a node is the lab's delay."""
    return op in PYTHON_OPS and _OP.fullmatch(name) is not None


def injected_delays(segment: SegmentOpened) -> dict[int, float]:
    """Milliseconds by replica, numbered over all workers; empty for a program's own run.

    A recorded spec is not checked: what is no delay is left out.
    """
    per_worker = segment.num_replicas // max(1, segment.num_workers)
    inject = segment.spec.get("inject")
    delays = {}
    for delay in inject if isinstance(inject, list | tuple) else ():
        try:
            delays[delay.get("worker", 0) * per_worker + delay["replica"]] = float(delay["ms"])
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
    return {replica: ms for replica, ms in delays.items() if 0 < ms < _LONGEST_MS}
