"""How much does each replica send in an all-reduce?"""

from __future__ import annotations

from strategy_contexts.lecture.question import Bar, Question, nearest
from strategy_contexts.lecture.recording import MIRRORED
from strategy_profiles.analysis.communication import communication
from strategy_profiles.errors import AnalysisError
from strategy_profiles.reporting import units
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.tables.store import Profile

TITLE = "The bytes of an all-reduce"
RECORDING = MIRRORED


def ask(recording: Profile) -> Question:
    segment = recording.segments[0]
    measured = communication(recording, segment)
    main, n = measured.main, segment.num_replicas
    shares = [each for each in measured.traffic if each.source == "ring model" and each.bytes]
    if main is None or not main.bytes or not shares:
        raise AnalysisError("The recording has no all-reduce of known size")
    sent = float(shares[0].bytes or 0)
    factors = (1 / n, 1.0, 2 * (n - 1) / n, n - 1.0)
    names = short_names(segment.replica_devices)
    return Question(
        text=f"{n} replicas all-reduce {units.size(main.bytes)} of gradients in a ring. "
        "How much does each replica send in a step?",
        choices=tuple(units.size(main.bytes * factor) for factor in factors),
        right=nearest(sent / main.bytes, factors),
        evidence=f"{main.op} of {units.size(main.bytes)} (measured) in a group of "
        f"{main.group_size}: each sends {units.size(sent)} (derived).",
        why=f"The tensor is cut into {n} pieces. Each replica sends {n - 1} pieces to add them up, "
        f"and {n - 1} to hand the sums round: 2(n - 1)/n of the tensor.",
        bars=tuple(
            Bar(
                f"{names[each.send_device]} to {names[each.recv_device]}",
                each.bytes or 0,
                units.size(each.bytes),
            )
            for each in shares
        ),
    )
