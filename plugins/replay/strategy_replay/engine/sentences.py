"""A prediction in words, for the page and the command line."""

from __future__ import annotations

import math

from strategy_profiles.analysis.captured_steps import is_unlike
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.reporting import units
from strategy_replay.engine.what_if import WhatIf


def error_sentence(what_if: WhatIf) -> str:
    """`24 captured steps replayed: ...`, with what the replay does not explain."""
    side = "longer" if what_if.unexplained_ms >= 0 else "shorter"
    return (
        f"{units.counted(what_if.num_steps, 'captured step')} replayed: median "
        f"{units.milliseconds(what_if.replayed_ms)}, measured "
        f"{units.milliseconds(what_if.measured_ms)}. Replay error "
        f"{units.share(what_if.replay_error)} (95 % of steps within "
        f"{units.share(what_if.replay_error_p95)}); the median step is "
        f"{units.milliseconds(abs(what_if.unexplained_ms))} {side} than its own replay, "
        "unexplained."
    )


def spread_sentence(what_if: WhatIf) -> str:
    """By how much runs of this spec differ, which the intervals of another run count."""
    spread = units.share(what_if.run_spread)
    if what_if.num_other_runs:
        others = units.counted(what_if.num_other_runs, "other run")
        return f"Intervals of another run count that {others} of this spec differ by {spread}."
    return (
        f"Intervals of another run assume that runs of one spec differ by {spread}: fewer than "
        "three others of this spec are known here."
    )


def unlike_sentence(what_if: WhatIf, median_ms: float | None) -> str:
    """What the replayed steps say of the others if these are unlike them; empty if they are alike.

    `median_ms` is the median of the steps without a capture.
    """
    if median_ms is None or not is_unlike(what_if.measured_ms, median_ms):
        return ""
    return (
        f"Steps without a capture take {units.milliseconds(median_ms)}, the replayed ones "
        f"{units.milliseconds(what_if.measured_ms)}: compare how many times as fast a step "
        "becomes, not its length."
    )


def predicted_sentence(what_if: WhatIf) -> tuple[str, str, str]:
    """The predicted step with its intervals; the second part is its length."""
    predicted, measured = map(units.milliseconds, (what_if.predicted_ms, what_if.measured_ms))
    change = f"({in_another_run(what_if)}) {units.listed(what_if.edits)}: {times_as_fast(what_if)}"
    return (
        "Predicted ",
        predicted,
        f" instead of {measured} {change}. {may_change_nothing(what_if)}",
    )


def may_change_nothing(what_if: WhatIf) -> str:
    """That the change may have no effect; empty if the recorded steps show that it has one."""
    if not what_if.is_within_error:
        return ""
    same_ms = units.milliseconds(what_if.same_ms)
    now = (
        f"the measured {same_ms}"
        if what_if.times_examples == 1.0
        else f"{same_ms}, with which a step has as many examples per second as now"
    )
    return (
        f"The interval of the recorded steps, {in_this_run(what_if)}, includes {now}: the change "
        "may have no effect."
    )


def gain_sentence(what_if: WhatIf) -> str:
    """`Without it the median captured step takes 43 ms instead of 74 ms (predicted, ...)`.

    No length is named if the replay's error is as large as the gain.
    """
    if what_if.is_within_error:
        return _unknown("without it", what_if)
    return f"Without it the median captured step takes {_instead(what_if)} ({_how_sure(what_if)})."


def finding_sentence(what_if: WhatIf, removal: Removal) -> str:
    """A finding's gain in a sentence: `what_if` is the step with the change that `removal` names.

    If the step has another number of examples, the sentence compares the time of an example.
    """
    if removal.change in ("no-delay", "average-replica"):
        return gain_sentence(what_if)
    edit = what_if.edits[0]
    if what_if.is_within_error:
        return _unknown(edit, what_if)
    if what_if.times_examples != 1.0:
        return (
            f"{edit[0].upper()}{edit[1:]} the median captured step takes {_instead(what_if)}, so "
            f"{what_if.speedup:.2f} times as many examples per second ({_how_sure(what_if)})."
        )
    if removal.is_bound:
        return (
            f"{edit[0].upper()}{edit[1:]} the median captured step would take "
            f"{_instead(what_if)}; no remedy saves more ({_how_sure(what_if)})."
        )
    with_edit = f"{edit[0].upper()}{edit[1:]}"
    return f"{with_edit} the median captured step takes {_instead(what_if)} ({_how_sure(what_if)})."


def _unknown(edit: str, what_if: WhatIf) -> str:
    same_ms = units.milliseconds(what_if.same_ms)
    now = (
        f"it takes {same_ms} now"
        if what_if.times_examples == 1.0
        else f"with {same_ms} it has as many examples per second as now"
    )
    return (
        f"This recording is too noisy to predict the gain {edit}: a step would take "
        f"{in_this_run(what_if)}, and {now} (95 % of steps are replayed within "
        f"{units.share(what_if.replay_error_p95)})."
    )


def _instead(what_if: WhatIf) -> str:
    predicted, measured = map(units.milliseconds, (what_if.predicted_ms, what_if.measured_ms))
    if predicted == measured:
        return f"{predicted}, as long as now"
    return f"{predicted} instead of {measured}"


def _how_sure(what_if: WhatIf) -> str:
    error = units.share(what_if.replay_error)
    return f"predicted, {in_another_run(what_if)}; replay error {error}"


def between(what_if: WhatIf) -> str:
    """The interval of another run: `41.0 to 45.2 ms`."""
    return f"{units.number(what_if.low_ms)} to {units.milliseconds(what_if.high_ms)}"


def in_another_run(what_if: WhatIf) -> str:
    """`41.0 to 45.2 ms in another run`, for sentences."""
    return f"{between(what_if)} in another run"


def times_as_fast(what_if: WhatIf) -> str:
    """`2.03 times as fast (1.69 to 2.26 in the recorded steps)`; of another batch, `1.81 times as
    many examples per second (...)`."""
    slow, fast = (
        what_if.same_ms / end_ms if end_ms > 0 else float("inf")
        for end_ms in (what_if.most_ms, what_if.least_ms)
    )
    ends = f"{slow:.2f} to {fast:.2f}" if math.isfinite(fast) else f"at least {slow:.2f}"
    what = "as fast" if what_if.times_examples == 1.0 else "as many examples per second"
    return f"{what_if.speedup:.2f} times {what} ({ends} in the recorded steps)"


def in_this_run(what_if: WhatIf) -> str:
    """The interval of the recorded steps alone: `42.0 to 44.1 ms`."""
    return f"{units.number(what_if.least_ms)} to {units.milliseconds(what_if.most_ms)}"
