"""A prediction in words, for the page and the command line."""

from __future__ import annotations

from strategy_lab.profiles.replay.what_if import WhatIf
from strategy_lab.profiles.reporting import units


def error_sentence(found: WhatIf) -> str:
    """`24 captured steps replayed: ...`, with what the replay does not explain."""
    side = "longer" if found.unexplained_ms >= 0 else "shorter"
    return (
        f"{units.counted(found.num_steps, 'captured step')} replayed: "
        f"{units.milliseconds(found.replayed_ms)}, measured "
        f"{units.milliseconds(found.measured_ms)}. Replay error "
        f"{units.share(found.replay_error)} (95 % of steps within "
        f"{units.share(found.replay_error_p95)}); steps are "
        f"{units.milliseconds(abs(found.unexplained_ms))} {side} than their replay, unexplained."
    )


def gain_sentence(found: WhatIf) -> str:
    """`Without it a captured step takes 43 ms instead of 74 ms (predicted, ...)`.

    No length is named if the replay's error is as large as the gain.
    """
    if found.is_within_error:
        measured = units.milliseconds(found.measured_ms)
        return (
            "What a step would take without it cannot be predicted from this recording: the "
            f"interval, {between(found)}, holds the measured {measured} (95 % of steps are "
            f"replayed within {units.share(found.replay_error_p95)})."
        )
    return (
        f"Without it a captured step takes {units.milliseconds(found.predicted_ms)} instead of "
        f"{units.milliseconds(found.measured_ms)} (predicted, {between(found)}; replay error "
        f"{units.share(found.replay_error)})."
    )


def between(found: WhatIf) -> str:
    """The interval: `41.0 to 45.2 ms`."""
    return f"{units.number(found.low_ms)} to {units.milliseconds(found.high_ms)}"
