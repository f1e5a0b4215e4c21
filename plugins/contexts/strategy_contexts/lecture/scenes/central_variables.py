"""Where are the variables of CentralStorageStrategy?"""

from __future__ import annotations

from strategy_contexts.lecture.question import Bar, Question
from strategy_contexts.lecture.recording import CENTRAL
from strategy_profiles.analysis.placement import placement
from strategy_profiles.errors import AnalysisError
from strategy_profiles.reporting import units
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.tables.store import Profile

TITLE = "Variables in one place"
RECORDING = CENTRAL


def ask(recording: Profile) -> Question:
    segment = recording.segments[0]
    placed = placement(recording, segment.segment)
    holding = [each for each in placed.devices if each.num_variables]
    if not holding:
        raise AnalysisError("The recording names no variable")
    copied = all(len(each.devices) > 1 for each in placed.variables)
    names = short_names(each.device for each in placed.devices)
    held = "; ".join(
        f"{names[each.device]} holds {each.num_variables} variables, "
        f"{units.size(each.variable_bytes)}"
        for each in holding
    )
    return Question(
        text=f"CentralStorageStrategy on {segment.num_replicas} replicas. "
        "Where are the model's variables?",
        choices=(
            "a copy on each device",
            "all on one device",
            "some on each device",
        ),
        right=0 if copied else 1 if len(holding) == 1 else 2,
        evidence=f"{held} (measured).",
        why="One device updates the variables; the replicas read them from it in each step. It "
        "saves memory and makes that device the centre of all transfers.",
        bars=tuple(
            Bar(
                names[device],
                sum(each.variable_bytes or 0 for each in holding if each.device == device),
                units.size(
                    sum(each.variable_bytes or 0 for each in holding if each.device == device)
                ),
            )
            for device in segment.replica_devices
        ),
    )
