"""Where the page Why offers to try a change: below the finding that proposes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strategy_app.added_sections import BelowFinding

if TYPE_CHECKING:
    from strategy_app.server.opened import OpenRun
    from strategy_profiles.analysis.facts import Finding


def _show(opened: OpenRun, finding: Finding) -> None:
    from strategy_replay.trying.try_it import offer_try

    if finding.edits:
        offer_try(opened, finding.segment, finding.edits, finding.key)


OFFER = BelowFinding(_show)
