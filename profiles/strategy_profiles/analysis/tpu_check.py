"""What a real TPU would do with the step of a run on emulated cores."""

from __future__ import annotations

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


def tpu_check(profile: Profile, segment: SegmentOpened) -> StepCheckedForTpu:
    """What XLA's compiler would say of a segment's step on a real TPU."""
    if segment.core_devices:
        for event in profile.events(StepCheckedForTpu):
            if event.segment == segment.segment:
                return event
    reason = NOT_RECORDED if segment.core_devices else NOT_TPU
    return StepCheckedForTpu(segment.segment, [], [], 0, None, None, reason)
