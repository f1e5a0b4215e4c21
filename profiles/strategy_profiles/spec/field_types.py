"""Types of the fields in `run.json` and in events, with their ranges: checked when they are read.

Numbers beyond 64 bits, text that UTF-8 cannot spell and JSON's non-numbers (NaN, Infinity) fit
none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta

from strategy_profiles.spec.limits import (
    DEEPEST,
    LARGEST,
    LONGEST_MS,
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_ITEMS,
    MOST_REPLICAS,
    MOST_SEGMENTS,
    MOST_WORKERS,
)

# A description documents every field of the type that has no text of its own.
_GENERATION = "How many processes had this number before it."
Int64 = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]
Count = Annotated[int, Meta(ge=0, le=LARGEST)]
Bytes = Annotated[int, Meta(ge=0, le=LARGEST, extra={"unit": "bytes"})]
TimeNs = Annotated[int, Meta(ge=0, le=LARGEST, extra={"unit": "ns"})]
Ms = Annotated[float, Meta(ge=0.0, le=LONGEST_MS, extra={"unit": "ms"})]
Cores = Annotated[float, Meta(ge=0.0, le=1e6, extra={"unit": "cores"})]
"""CPU time per time."""
SignedMs = Annotated[float, Meta(ge=-LONGEST_MS, le=LONGEST_MS, extra={"unit": "ms"})]
Worker = Annotated[
    int, Meta(ge=0, lt=MOST_WORKERS, description="Number of the process in its run, from 0.")
]
Generation = Annotated[int, Meta(ge=0, lt=2**31, description=_GENERATION)]
Segment = Annotated[int, Meta(ge=0, lt=MOST_SEGMENTS, description="Number of the segment.")]
Step = Annotated[int, Meta(ge=0, le=LARGEST, description="Number of the step.")]
NumWorkers = Annotated[int, Meta(ge=1, le=MOST_WORKERS)]
NumReplicas = Annotated[int, Meta(ge=1, le=MOST_REPLICAS)]
Small = Annotated[int, Meta(ge=0, lt=2**31)]
"""A number of processes, of parts, of calls."""
Pid = Annotated[int, Meta(ge=0, lt=2**31, description="Process id in the system.")]
Name = Annotated[str, Meta(max_length=LONGEST_NAME)]
Text = Annotated[str, Meta(max_length=LONGEST_TEXT)]
Devices = Annotated[list[Name], Meta(max_length=MOST_REPLICAS)]
"""Full device names, `/job:worker/replica:0/task:0/device:GPU:0`."""
Counts = Annotated[dict[Name, Count], Meta(max_length=MOST_ITEMS)]
Json = dict[str, Any]
"""A free-form JSON object, checked with `check_json`."""


def check_json(value: object) -> None:
    """Raise ValueError if a free-form value is nested too deeply or has too large a number."""
    level: list[object] = [value]
    for _ in range(DEEPEST):
        below: list[object] = []
        for item in level:
            if isinstance(item, Mapping):
                below += item.values()
            elif isinstance(item, Sequence) and not isinstance(item, str):
                below += item
            elif isinstance(item, int) and not -(2**63) <= item < 2**63:
                raise ValueError("a number of more than 64 bits")
        if not below:
            return
        level = below
    raise ValueError(f"nested more than {DEEPEST} levels deep")
