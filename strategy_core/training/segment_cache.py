"""Segments that a run has left, for when it comes back: their strategy, variables and steps.

Their variables take memory, so they are few and small; the one left longest ago goes first.
"""

from __future__ import annotations

from strategy_core.planning import strategy_catalog, workload_catalog
from strategy_core.planning.reconfiguration import fixed_fields
from strategy_core.training import state
from strategy_core.training.custom_loop import CustomLoop
from strategy_core.training.segment import Segment
from strategy_lab.profiles.spec.run_spec import RunSpec

MAX_KEPT = 4
MAX_BYTES = 256 * 2**20
"""Of all that is kept, copies on every replica counted."""
Key = tuple[str, ...]


class SegmentCache:
    """By what their strategy and model depend on."""

    def __init__(self, max_kept: int = MAX_KEPT, max_bytes: int = MAX_BYTES) -> None:
        self._max_kept, self._max_bytes = max_kept, max_bytes
        self._kept: dict[Key, tuple[Segment, int]] = {}

    def find(self, spec: RunSpec) -> Segment | None:
        """One whose strategy, model and variables are those that `spec` asks for."""
        found = self._kept.get(_key(spec))
        return found[0] if found else None

    def keep(self, left: Segment, held: state.State) -> None:
        """Keep a segment that was left with this training state."""
        if (
            not isinstance(left.loop, CustomLoop)
            or strategy_catalog.row(left.spec.strategy).has_cores
        ):
            return  # nothing can be made of it
        key = _key(left.spec)
        self._kept.pop(key, None)
        num_bytes = sum(array.nbytes for array in held) * left.plan.num_replicas
        self._kept[key] = left, num_bytes
        while len(self._kept) > self._max_kept or self._num_bytes > self._max_bytes:
            self._kept.pop(next(iter(self._kept)))

    def drop(self, spec: RunSpec) -> None:
        """Keep none for this spec any more."""
        self._kept.pop(_key(spec), None)

    @property
    def _num_bytes(self) -> int:
        return sum(num_bytes for _, num_bytes in self._kept.values())


def _key(spec: RunSpec) -> Key:
    """What a strategy and model depend on: fields of the spec, and the workload's file as it is."""
    fixed = spec.model_dump(include=set(fixed_fields(spec)), mode="json")
    return (*(f"{name}={value}" for name, value in fixed.items()), _version(spec.workload))


def _version(workload: str) -> str:
    """Another one once its user has saved the file again."""
    try:
        at = workload_catalog.find(workload).stat()
    except OSError:
        return "gone"
    return f"{at.st_mtime_ns}-{at.st_size}"
