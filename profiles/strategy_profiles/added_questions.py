"""Questions that packages add, by entry points of the group `strategy_lab.questions`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from strategy_profiles.registered import loaded

if TYPE_CHECKING:
    from strategy_profiles.analysis.facts import Facts
    from strategy_profiles.answers.answer import Answer
    from strategy_profiles.run.events import SegmentOpened
    from strategy_profiles.tables.store import Profile


def _any(_segment: SegmentOpened) -> bool:
    return True


class Question(Struct, frozen=True):
    """A question about a segment; its answer is a section of the report and of the summary."""

    title: str
    answer: Callable[[Profile, Facts], Answer]
    fits: Callable[[SegmentOpened], bool] = _any
    """Whether a segment has what it is about."""
    fits_summary: Callable[[SegmentOpened], bool] | None = None
    """Whether the summary on a terminal has its answer; None: where it fits."""


def added_questions() -> dict[str, Question]:
    """Those that can be loaded, by name."""
    return loaded("questions", Question)[0]
