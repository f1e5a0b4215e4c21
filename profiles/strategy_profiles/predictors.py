"""What packages predict of steps: entry points of the group `strategy_lab.predictors`.

Page, report, command line and MCP server all ask here, so they show the same figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from strategy_profiles.analysis.facts import Facts, Finding, Gain
from strategy_profiles.analysis.findings import findings
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.errors import LabError
from strategy_profiles.registered import loaded
from strategy_profiles.tables.store import Profile

NO_PREDICTOR = "No installed package predicts what a step would gain."


class Interval(NamedTuple):
    """The shortest and the longest step that are likely."""

    low_ms: float
    high_ms: float


@dataclass(frozen=True, slots=True)
class Predictor:
    """What a package predicts; None: it does not predict that.

    Each function raises LabError with the reason if the recordings do not allow the prediction.
    """

    predict: Callable[[Sequence[Profile], int], Interval | None] | None = None
    """The step of a program on more replicas: of runs with one batch per replica, and the wanted
    number of replicas. None: there is no prediction that was checked against measurements."""
    gain: Callable[[Profile, int, Removal], Gain] | None = None
    """The step of a segment without the cause of a finding."""
    error: Callable[[Profile, int], float] | None = None
    """How far predictions of a segment's captured steps are off if nothing is changed, relative to
    the measured steps."""


def predicted_step(runs: Sequence[Profile], num_replicas: int) -> Interval | None:
    """Return the interval of the first predictor that has one; None if there is none."""
    step: Interval | None = _first("predict", runs, num_replicas)[0]
    return step


def error_of(profile: Profile, segment: int) -> float | None:
    """Return how far predictions of unchanged steps are off; None if nothing predicts them."""
    error: float | None = _first("error", profile, segment)[0]
    return error


def gain_without(profile: Profile, segment: int, removal: Removal) -> Gain | str:
    """Return what a step would gain by a change; a sentence if that cannot be predicted."""
    gain: Gain | None
    gain, reason = _first("gain", profile, segment, removal)
    return gain or reason


def gain_of(profile: Profile, finding: Finding) -> Gain | str:
    """Return what a step would gain without a finding; a sentence if that cannot be predicted."""
    if isinstance(finding.removal, str):
        return finding.removal
    return gain_without(profile, finding.segment, finding.removal)


def findings_with_gains(profile: Profile, facts: Facts) -> tuple[Finding, ...]:
    """Return the findings of a segment, each with its gain or the reason why it has none."""
    return findings(facts, lambda item: gain_of(profile, item))


def predicts_gains() -> bool:
    """Return whether an installed package predicts what a step would gain by a change."""
    return any(_functions("gain"))


def _first(name: str, *arguments: Any) -> tuple[Any, str]:
    """Return the first answer that predictors give, and why there is none."""
    reason = NO_PREDICTOR
    for function in _functions(name):
        try:
            answer = function(*arguments)
        except LabError as error:
            reason = str(error)
            continue
        if answer is not None:
            return answer, ""
    return None, reason


def _functions(name: str) -> Iterator[Callable[..., Any]]:
    for each in loaded("predictors", Predictor)[0].values():
        function = getattr(each, name)
        if function is not None:
            yield function
