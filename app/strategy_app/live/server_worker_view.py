"""Workers of parameter servers as they go: how much each did, what its newest steps are made of.

Each works at its own pace, so there is no step in which all of them could be compared: what is
shown of each are means over its own newest steps.
"""

from __future__ import annotations

import math
from collections import deque

from strategy_profiles.run.events import ClosureDone, SegmentOpened
from strategy_profiles.run.injected_delay import injected_delays
from strategy_profiles.tables.served_tables import parts_ms

NEWEST = 20
"""Steps of a worker behind its means."""


class ServedView:
    """Fed with closures."""

    def __init__(self) -> None:
        self._num_steps: dict[int, int] = {}
        self._newest: dict[int, deque[tuple[float, ...]]] = {}
        self._segment: int | None = None
        self._delays_ms: dict[int, float] = {}

    def take(self, closure: ClosureDone, opened: SegmentOpened | None) -> None:
        """Note who did the step, and what it was made of. `opened` is the segment in force."""
        worker = closure.worker
        if closure.segment != self._segment:  # another batch, another model: nothing to mix
            self._segment = closure.segment
            self._newest.clear()
            self._delays_ms = injected_delays(opened) if opened else {}
        self._num_steps[worker] = self._num_steps.get(worker, 0) + 1
        parts = parts_ms(closure, self._delays_ms.get(worker - 1, 0.0))
        if parts is not None:
            self._newest.setdefault(worker, deque(maxlen=NEWEST + 1)).append(parts)

    def message(self) -> dict[str, dict[str, object]]:
        """Return `steps` done and mean `parts` of a step in ms, if known, by process number."""
        return {
            str(worker): {"steps": count, "parts": self._means(worker)}
            for worker, count in sorted(self._num_steps.items())
        }

    def walls_ms(self) -> dict[int, float]:
        """Mean length of the newest steps of each worker that tells their parts, by process."""
        means = {worker: self._means(worker) for worker in self._num_steps}
        return {worker: math.fsum(parts) for worker, parts in means.items() if parts}

    def _means(self, worker: int) -> list[float] | None:
        newest = self._newest.get(worker)
        if not newest:
            return None
        # A worker's first step of a segment builds its graph: it counts only while it is alone.
        counted = list(newest)[1:] or list(newest)
        return [round(math.fsum(part) / len(counted), 3) for part in zip(*counted, strict=True)]
