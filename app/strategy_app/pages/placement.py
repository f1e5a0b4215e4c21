"""Placement: the devices on which ops and variables actually are."""

from __future__ import annotations

from strategy_app.added_sections import show_added
from strategy_app.screen.answer import answer_of, show_beginning, show_parts
from strategy_app.widgets.op_table import show_op_table
from strategy_app.widgets.picker import run_page
from strategy_app.widgets.segments import pick_segment
from strategy_profiles.questions.placement import placement


def page() -> None:
    opened = run_page("placement", shows="the device of each op and of each variable")
    segment = pick_segment(opened.profile) if opened else None
    if not opened or not segment:
        return
    answer = answer_of(opened, placement, segment.segment)
    show_beginning(answer)
    if answer.sentence:
        show_added("placement", opened, segment.segment)
    show_parts(answer.parts, is_whole=not answer.sentence)
    if answer.sentence:
        show_op_table(opened.profile, segment.segment)


page()
