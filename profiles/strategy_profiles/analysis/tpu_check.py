"""What a real TPU would do with the step of a run on emulated cores."""

from __future__ import annotations

from msgspec import Struct

from strategy_profiles.run.event_parts import TpuFinding
from strategy_profiles.run.events import SegmentOpened, StepCheckedForTpu
from strategy_profiles.tables.store import Profile

NOT_TPU = "the strategy is not TPUStrategy"
NOT_RECORDED = "the run ended before its first step was done, so none was checked"

OUTCOMES = {
    "refused": "Would not compile",
    "on_host": "Would run on the host",
    "slow": "Would compile, at a cost",
}
"""What a TPU does with an op, and how that is said."""


class TpuCheck(Struct, frozen=True):
    """The answer for a segment; `reason` says why it is unknown."""

    findings: tuple[TpuFinding, ...] = ()
    unchecked: tuple[str, ...] = ()
    num_ops: int = 0
    lookup_ms: float | None = None
    lowering_ms: float | None = None
    reason: str | None = None

    def of(self, outcome: str) -> list[TpuFinding]:
        return [each for each in self.findings if each.outcome == outcome]


def tpu_check(profile: Profile, segment: SegmentOpened) -> TpuCheck:
    """What XLA's compiler would say of a segment's step on a real TPU."""
    if not segment.core_devices:
        return TpuCheck(reason=NOT_TPU)
    event = _event(profile, segment.segment)
    if event is None:
        return TpuCheck(reason=NOT_RECORDED)
    return TpuCheck(
        findings=tuple(event.findings),
        unchecked=tuple(event.unchecked),
        num_ops=event.num_ops,
        lookup_ms=event.lookup_ms,
        lowering_ms=event.lowering_ms,
        reason=event.reason,
    )


def _event(profile: Profile, segment: int) -> StepCheckedForTpu | None:
    events = (event for event in profile.events(StepCheckedForTpu) if event.segment == segment)
    return next(events, None)
