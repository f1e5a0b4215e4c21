"""Why is it slow? Each finding is one sentence with its cost, its evidence, and what to try.

A finding comes from a rule (`advice`), a function of the facts of a segment; the order is by cost,
the largest first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from strategy_lab.profiles.analysis.advice.pytorch import REMEDIES
from strategy_lab.profiles.analysis.advice.registry import RULES
from strategy_lab.profiles.analysis.cost import cost_order
from strategy_lab.profiles.analysis.facts import Facts, Finding, Gain, gather_facts

__all__ = ["Facts", "Finding", "findings", "gather_facts", "main_finding"]

NO_REASON = ("costly-capture", "tracing", "unsteady")
"""Findings that do not say why a usual step takes as long as it does."""
WRONG = ("shared-collective-key", "xla-across-devices", "variables-in-first-step", "loss-lost")
"""Findings that say that the run itself is of no use; they come first."""
WORTH_SAYING = 0.1
"""Least share of a step that a finding must explain to be named in a headline."""
Predict = Callable[[Finding], Gain | str]
"""What a step would gain without a finding; a sentence if that is not known."""


def findings(facts: Facts, predict: Predict | None = None) -> tuple[Finding, ...]:
    """What is wrong with this segment, then what costs time, the largest cost first.

    Args:
      predict: adds to each finding what a step would gain without it.
    """
    found = ranked([item for rule in RULES for item in rule.findings(facts)])
    if facts.framework == "PyTorch":
        found = tuple(replace(item, advice=REMEDIES.get(item.key, item.advice)) for item in found)
    return tuple(_with_gain(item, predict(item)) for item in found) if predict else found


def _with_gain(item: Finding, gain: Gain | str) -> Finding:
    if isinstance(gain, str):
        return replace(item, why_no_gain=gain)
    return replace(item, gain=gain)


def ranked(found: Sequence[Finding]) -> tuple[Finding, ...]:
    """Sort by cost, unknown cost last; the findings of `WRONG` come first.

    A finding that follows from another one comes after it, whatever they cost.
    """
    costs: dict[tuple[int, str], float] = {}
    for item in found:
        key = item.segment, item.key
        costs[key] = max(cost_order(item.cost), costs.get(key, -math.inf))

    def order(item: Finding) -> tuple[bool, float, bool]:
        cause = costs.get((item.segment, item.caused_by or ""), -math.inf)
        return (
            item.key not in WRONG,
            max(cost_order(item.cost), cause),
            item.caused_by is not None,
        )

    return tuple(sorted(found, key=order))


def main_finding(facts: Facts) -> Finding | None:
    """Return the finding for the headline; None if every finding is small.

    What is wrong with the run itself comes first, whatever it costs.
    """
    return next((item for item in findings(facts) if _is_worth_saying(item)), None)


def _is_worth_saying(item: Finding) -> bool:
    if item.key in WRONG:
        return True
    is_large = item.cost is not None and item.cost.share >= WORTH_SAYING
    return is_large and item.key not in NO_REASON
