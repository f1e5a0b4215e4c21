"""Communication: what the replicas sent each other, how fast, and how much of it hid."""

from __future__ import annotations

from strategy_app.screen.answer import answer_of, show_answer
from strategy_app.widgets.picker import run_page
from strategy_app.widgets.segments import pick_segment
from strategy_profiles.questions.communication import communication


def page() -> None:
    opened = run_page(
        "communication",
        shows="what the replicas send each other, on which link and how fast",
    )
    segment = pick_segment(opened.profile) if opened else None
    if opened and segment:
        show_answer(answer_of(opened, communication, segment.segment))


page()
