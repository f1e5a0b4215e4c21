"""Which edit of a step is the same as a change of the RunSpec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from strategy_profiles.analysis.usual_algorithm import usual_algorithm
from strategy_profiles.step_graph.recording import ReplayError
from strategy_replay.engine.batch_fit import batch_change
from strategy_replay.engine.collective_edits import faster_link, other_packs
from strategy_replay.engine.edits import Edit, RemoveDelay
from strategy_replay.engine.other_algorithm import other_algorithm
from strategy_replay.engine.replays import replays

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

_RATE = "network.rate_mbit"


def refused_xla() -> Edit:
    """Raise ReplayError: no edit predicts XLA."""
    raise ReplayError(
        "What XLA would do cannot be predicted: it fuses ops into others, which were not recorded",
        advice="Measure it: Try it on the page What if, or what-if --try xla=true",
    )


def edit_of(profile: Profile, segment: int, changes: Mapping[str, Any]) -> Edit | None:
    """Return the edit that predicts these changes (values by dotted path); None if there is none.

    Another number of devices or XLA changes which ops run, and an edit only changes how long they
    take. Of another algorithm, messages and bytes are known instead of its ops. Raises ReplayError
    if the recording does not allow a prediction.
    """
    if set(changes) == {"inject"} and not changes["inject"]:
        return RemoveDelay()
    if set(changes) == {"global_batch_size"}:
        return batch_change(profile, segment, int(changes["global_batch_size"]))
    if set(changes) == {"bytes_per_pack"}:
        return other_packs(replays(profile, segment), int(changes["bytes_per_pack"]))
    if "cross_device_ops" in changes and set(changes) <= {"cross_device_ops", "num_packs"}:
        return _algorithm(profile, segment, changes)
    if set(changes) == {_RATE} and changes[_RATE]:
        known = replays(profile, segment)
        recorded = (known.recording.segment.spec.get("network") or {}).get("rate_mbit")
        return faster_link(known, changes[_RATE] / recorded) if recorded else None
    return None


def _algorithm(profile: Profile, segment: int, changes: Mapping[str, Any]) -> Edit | None:
    if changes.get("num_packs", 1) != 1:
        return None  # packs by number are no part of the arithmetic
    known = replays(profile, segment)
    name = changes["cross_device_ops"]
    if name == "auto":
        name = usual_algorithm(known.recording.segment)
    return None if name is None else other_algorithm(known, name)
