"""Step film: one captured step in slow motion, with who computes, who waits, and what travels."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

import streamlit as st

from strategy_app.server.opened import OpenRun
from strategy_app.widgets.empty import empty
from strategy_app.widgets.picker import run_page
from strategy_app.widgets.segments import say_none
from strategy_app.widgets.text import as_markdown
from strategy_film import FilmStep, film_steps, make_scene, usual_step, why_no_film
from strategy_film.export import film_page
from strategy_profiles.errors import LabError
from strategy_profiles.tables.store import Profile
from strategy_profiles.user_input.text import whole_or_none

KEY = "step"
SHOWN_RUN = "film_run"
"""In the session: the run whose film was shown last."""
HEIGHT = 700
"""Until the film has been laid out: then the frame becomes as tall as it needs."""
STYLE = "<style>.st-key-film [data-testid=stElementContainer] {height:auto !important}</style>"
"""As tall as the film makes its frame, not as tall as it was before its layout."""
ALT = "The step as a film: replicas, what they do, and what travels between them"


def show_page() -> None:
    left, middle, right = st.columns([3.4, 1.3, 1.6], vertical_alignment="center")
    opened = run_page(
        "film",
        (left, right),
        shows="one step in slow motion: what each replica does, and what travels between them",
    )
    if opened is None:
        return
    if not opened.profile.segments:
        say_none(opened.profile)
        return
    steps = opened.ask(film_steps)
    if not steps:
        page = "lab" if opened.profile.segments[-1].is_of_lab else ""
        empty(*why_no_film(opened.profile), page=page, link="New run")
        return
    name = opened.profile.path.name
    in_address = st.query_params.get(KEY)
    with middle:
        step = pick_step(opened, steps)
    say_unknown(name, in_address, steps, step)
    address = f"report/{quote(name)}/film?step={step.step}"
    # Below the head at once: picture, controls and scrubber are in sight on a projector.
    film = st.container(key="film")
    st.html(STYLE)
    left, right = st.columns(2)
    left.link_button("Open in its own tab", address, width="stretch")
    right.download_button(
        "Download as a page",
        lambda: opened.ask(document, step),
        file_name=f"{name}-step-{step.step}.film.html",
        mime="text/html",
        on_click="ignore",
        width="stretch",
    )
    try:
        page_text = opened.ask(document, step)
    except LabError as error:  # a damaged run: a step without the times of any replica
        film.error(as_markdown(error))
        return
    film.iframe(page_text, height=HEIGHT, alt=ALT)


def pick_step(opened: OpenRun, steps: Sequence[FilmStep]) -> FilmStep:
    """A select box bound to the query parameter `step`; without one, the usual step."""
    named = _step_numbered(steps, st.query_params.get(KEY, ""))
    usual = opened.ask(usual_step, steps)
    chosen: FilmStep = st.selectbox(
        "Captured step" if usual.source == "measured" else "Step",
        steps,
        index=steps.index(named or usual),
        format_func=lambda item: item.title,
        key=f"film_step_{opened.profile.path.name}",
        label_visibility="collapsed",
    )
    st.query_params[KEY] = str(chosen.step)
    return chosen


def say_unknown(
    name: str, in_address: str | None, steps: Sequence[FilmStep], step: FilmStep
) -> None:
    """Warn if the address names a step that the run cannot show.

    Not after another run was shown: the address then still has a step of that one.
    """
    is_of_this_run = st.session_state.get(SHOWN_RUN, name) == name
    st.session_state[SHOWN_RUN] = name
    if in_address is not None and is_of_this_run and _step_numbered(steps, in_address) is None:
        st.warning(
            f"This run has no captured step {as_markdown(in_address, 40)}. "
            f"The film is of step {step.step:,}."
        )


def _step_numbered(steps: Sequence[FilmStep], text: str) -> FilmStep | None:
    number = whole_or_none(text)
    return next((item for item in steps if item.step == number), None)


def document(profile: Profile, step: FilmStep) -> str:
    return film_page(make_scene(profile, step))
