"""What a finding costs: a share of a step, of the time of all steps, or of that from step to step.

Findings of both kinds are ranked by their share of the time of all steps: half of every step is
less than a first step that took most of the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from strategy_lab.profiles.reporting import units

Source = Literal["measured", "derived"]
ANY_STEP = "a step"
CAPTURED_STEP = "a captured step"
WORTH_BOTH = 0.05
"""A share of a step that differs this much from that of all steps is given as both."""


@dataclass(frozen=True, slots=True)
class Cost:
    """A known cost."""

    of: Literal["step", "all steps", "loop"]
    ms: float
    """Per step, or over all steps; of the loop, between two steps."""
    share: float
    """Of a step, or of the time of all steps, the first one and the capture windows included."""
    share_of_all: float
    """Of the time of all steps. What is between steps is not in that time: it may exceed 1."""
    source: Source
    all_steps: str
    """Which steps these are: of a run with several segments those of one."""
    step: str
    """Which step `ms` and `share` are of: captured steps may take longer than the others."""

    @property
    def share_text(self) -> str:
        """`38 % of a captured step`."""
        whole = {
            "step": self.step,
            "all steps": f"the time of {self.all_steps}",
            "loop": "the time from step to step",
        }
        return f"{units.share(self.share)} of {whole[self.of]}"

    @property
    def detail_text(self) -> str:
        """`31.8 of 84 ms, derived`."""
        if self.of == "all steps":
            length = units.seconds(self.ms / 1e3)
        elif self.of == "step" and self.share:
            length = f"{units.number(self.ms)} of {units.milliseconds(self.ms / self.share)}"
        else:
            length = units.milliseconds(self.ms)
        both = self.of != "loop" and abs(self.share - self.share_of_all) > WORTH_BOTH
        also = f", {units.share(self.share_of_all)} of the time of {self.all_steps}" if both else ""
        return f"{length}{also}, {self.source}"


def cost_text(cost: Cost | None) -> str:
    """`38 % of a captured step (31.8 of 84 ms, derived)`, or that it is unknown."""
    return "cost unknown" if cost is None else f"{cost.share_text} ({cost.detail_text})"


def cost_order(cost: Cost | None) -> float:
    """Sort key: the largest share of the time of all steps first, unknown costs last."""
    return 1.0 if cost is None else -cost.share_of_all
