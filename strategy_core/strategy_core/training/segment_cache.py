"""Caches the strategy, variables and steps of segments, for a run that returns to them.

Their variables take memory, so the cache is small, and the least recently left one goes first.
"""

from __future__ import annotations

from strategy_core.planning import strategy_catalog, workload_catalog
from strategy_core.planning.reconfiguration import fixed_fields
from strategy_core.training import state
from strategy_core.training.custom_loop import CustomLoop
from strategy_core.training.segment import Segment
from strategy_profiles.spec.run_spec import RunSpec

MAX_KEPT = 4
MAX_BYTES = 256 * 2**20
"""Limit for the whole cache, including copies on every replica."""
Key = tuple[str, ...]


class SegmentCache:
    """A cache keyed by what strategy and model depend on."""

    def __init__(self, max_kept: int = MAX_KEPT, max_bytes: int = MAX_BYTES) -> None:
        self._max_kept, self._max_bytes = max_kept, max_bytes
        self._kept: dict[Key, tuple[Segment, int]] = {}

    def find(self, spec: RunSpec) -> Segment | None:
        """A segment with the strategy, model and variables that `spec` asks for, or None."""
        kept = self._kept.get(_key(spec))
        return kept[0] if kept else None

    def keep(self, left: Segment, held: state.State) -> None:
        """Add a segment that was left with this training state."""
        if (
            not isinstance(left.loop, CustomLoop)
            or strategy_catalog.row(left.spec.strategy).has_cores
        ):
            return  # `adapt` cannot reuse it
        key = _key(left.spec)
        self._kept.pop(key, None)
        num_bytes = sum(array.nbytes for array in held) * left.plan.num_replicas
        self._kept[key] = left, num_bytes
        while len(self._kept) > self._max_kept or self._num_bytes > self._max_bytes:
            self._kept.pop(next(iter(self._kept)))

    def drop(self, spec: RunSpec) -> None:
        """Remove the segment for this spec."""
        self._kept.pop(_key(spec), None)

    @property
    def _num_bytes(self) -> int:
        return sum(num_bytes for _, num_bytes in self._kept.values())


def _key(spec: RunSpec) -> Key:
    """What strategy and model depend on: fields of the spec, and the current workload file."""
    fixed = spec.model_dump(include=set(fixed_fields(spec)), mode="json")
    return (*(f"{name}={value}" for name, value in fixed.items()), _version(spec.workload))


def _version(workload: str) -> str:
    """Changes whenever the user saves the workload file."""
    try:
        at = workload_catalog.find(workload).stat()
    except OSError:
        return "gone"
    return f"{at.st_mtime_ns}-{at.st_size}"
