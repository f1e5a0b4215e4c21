"""What a finding costs: milliseconds of each step of the loop, and their share of the loop.

What comes before the loop is a share of the program.

A rule says how long what it found takes, of a step or in all (`facts.per_step`, `over_all_steps`).
The account of the loop makes a cost of it.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from strategy_profiles.reporting import units

Source = Literal["measured", "sampled", "derived", "rest"]
FEW_STEPS = 10
"""With fewer typical captured steps behind a share, their number is said beside it."""


class Cost(Struct, frozen=True):
    """A known cost, in terms of the account."""

    ms: float
    """Per step of the loop."""
    share: float
    """Of the wall time of the loop, or of the program."""
    share_of_usual: float
    """Of the loop without its first step, which a longer run does not repeat: findings are ranked
    by it."""
    source: Source
    num_steps: int = 0
    """Captured steps that it is derived from; 0 if it rests on all steps."""
    of: Literal["loop", "program"] = "loop"

    @property
    def share_text(self) -> str:
        """`38 % of the loop`."""
        return f"{units.share(self.share)} of the {self.of}"

    def times(self, factor: float) -> Cost:
        """A part of it."""
        return replace(
            self,
            ms=self.ms * factor,
            share=self.share * factor,
            share_of_usual=self.share_of_usual * factor,
        )

    @property
    def detail_text(self) -> str:
        """`31.8 ms a step, derived from 3 captured steps`; `once, sampled`."""
        if self.of == "program":
            return f"once, {self.source}"
        few = 0 < self.num_steps < FEW_STEPS
        behind = f" from {units.counted(self.num_steps, 'captured step')}" if few else ""
        return f"{units.milliseconds(self.ms)} a step, {self.source}{behind}"


def cost_text(cost: Cost | None) -> str:
    """`38 % of the loop (31.8 ms a step, derived)`, or that it is unknown."""
    return "cost unknown" if cost is None else f"{cost.share_text} ({cost.detail_text})"
