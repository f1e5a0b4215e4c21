"""Parameter servers: each worker's steps, the queue, variables per server, and bytes moved."""

from __future__ import annotations

from operator import attrgetter

from strategy_app.screen.answer import answer_of, show_answer, show_parts
from strategy_app.widgets.picker import needs, run_page
from strategy_app.widgets.segments import pick_segment
from strategy_profiles.questions.links import links_part
from strategy_servers.shown.question import servers


def show_page() -> None:
    opened = run_page(
        "servers",
        shows="what each server holds, and what workers pull from it and push to it",
        needed="ParameterServerStrategy",
        suits=needs(attrgetter("has_servers")),
    )
    segment = pick_segment(opened.profile) if opened else None
    if opened and segment:
        show_answer(answer_of(opened, servers, segment.segment))
        show_parts(opened.ask(links_part, segment))
