"""Contexts: choose a demonstration or write a program, record it, step through what it did."""

from __future__ import annotations

import streamlit as st

from strategy_core.contexts import course
from strategy_lab.app.parts.recording import Key, recordings
from strategy_lab.app.parts.text import as_markdown
from strategy_lab.app.parts.traced_runs import pick_recording
from strategy_lab.app.state import lab
from strategy_lab.profiles.spec import SINGLE_REPLICA_STRATEGIES
from strategy_lab.profiles.stepper import page
from strategy_lab.profiles.user_text import whole_or_none

STRATEGIES = {
    "mirrored": "MirroredStrategy",
    "central-storage": "CentralStorageStrategy",
    "one-device": "OneDeviceStrategy",
    "default": "default strategy",
    "tpu": "TPUStrategy, emulated where there is no TPU",
}
SHOWN = ("Demonstrations", "The first step of a run")
HEIGHT = 920
ALT = "The program, its contexts and values, step by step"


def choose() -> list[Key]:
    """The controls: program, strategy, replicas, editor; a second key where two are compared."""
    items = {item.name: item for item in course.demonstrations()}
    left, middle, right, beside = st.columns([4, 3, 2, 3], vertical_alignment="bottom")
    asked = st.query_params.get("demo")
    if asked in items and asked != st.session_state.get("demo_shown"):
        st.session_state["demo"] = asked  # the address leads: a link opens its demonstration
    name = left.selectbox(
        "Demonstration", list(items), format_func=lambda each: items[each].title, key="demo"
    )
    st.session_state["demo_shown"] = st.query_params["demo"] = name
    strategy = middle.selectbox(
        "Strategy", list(STRATEGIES), format_func=STRATEGIES.__getitem__, key="context_strategy"
    )
    replicas = right.number_input(
        "Replicas", 1, 8, 2, key="context_replicas", disabled=strategy in SINGLE_REPLICA_STRATEGIES
    )
    source = edit(name, items[name].source)
    other = beside.selectbox(
        "Beside it",
        [None, *(each for each in STRATEGIES if each != strategy)],
        format_func=lambda each: STRATEGIES[each] if each else "nothing",
        key="context_beside",
        help="The same program under a second strategy, side by side.",
    )
    chosen = [strategy, other] if other else [strategy]
    return [
        (source, each, f"cpu:{1 if each in SINGLE_REPLICA_STRATEGIES else replicas}")
        for each in chosen
    ]


def edit(name: str, source: str) -> str:
    """The program, changed in the editor where the lab was started for that."""
    with st.expander("Change the program"):
        if refusal := lab().access.why_no_own_code:
            st.info(refusal)
            return source
        st.html("<style>[class*='st-key-context_source'] textarea {font-family: monospace}</style>")
        changed: str = st.text_area(
            "A program with demonstrate(strategy); it runs in a process of its own",
            source,
            height=420,
            key=f"context_source_{name}",
        )
        return changed


@st.fragment(run_every=0.3)
def watch() -> None:
    """While a recording runs: say so, offer to stop it, and show the page once it is over."""
    if recordings().poll():
        left, right = st.columns([5, 1], vertical_alignment="center")
        left.info("Recording: TensorFlow starts in a process of its own, a few seconds …")
        if right.button("Stop", key="context_stop", width="stretch"):
            recordings().stop()
            st.rerun()
    else:
        st.rerun()


def show(key: Key) -> None:
    """The recording of `key`, or what became of it."""
    held = recordings()
    if held.running is not None and held.running[0] == key:
        watch()
        return
    if key in held.refused:
        st.error(as_markdown(held.refused[key]))
    elif key not in held.done:
        if held.running is None:
            held.start(key)
            st.rerun()
        return
    again, save = st.columns([1, 2])
    if again.button("Record again", key=f"context_again_{key[1]}", width="stretch"):
        held.done.pop(key, None)
        held.start(key)
        st.rerun()
    if key in held.done:
        theme = str(st.context.theme.type or "auto")
        save.download_button(
            "Download as a page to step through",
            lambda: page(held.done[key]),
            file_name="contexts.html",
            mime="text/html",
            key=f"context_save_{key[1]}",
            width="stretch",
        )
        st.iframe(page(held.done[key], theme=theme, step=first_step(key)), height=HEIGHT, alt=ALT)


def show_course() -> None:
    """A demonstration, or a program in its place, under one strategy or two side by side."""
    keys = choose()
    for place, key in zip(st.columns(len(keys)), keys, strict=True):
        with place:
            if len(keys) > 1:
                st.subheader(STRATEGIES[key[1]])
            show(key)


def first_step(key: Key) -> int:
    """Where the picture of `key` opens: at the step of the address, the first time it is drawn.

    Later the picture keeps the address up to date by itself and must not be drawn anew for it.
    """
    opened: dict[Key, int] = st.session_state.setdefault("context_steps", {})
    if key not in opened:
        asked = st.query_params.get("step", "1") if not opened else "1"
        opened[key] = whole_or_none(asked) or 1
    return opened[key]


st.title("Contexts")
st.caption(
    "What tf.distribute really does between replica, cross-replica and update context: a real run, "
    "recorded. Step with the buttons, the slider or the arrow keys."
)
if st.segmented_control("Show", SHOWN, default=SHOWN[0], required=True, key="shown") == SHOWN[0]:
    show_course()
else:
    recording = pick_recording(lab().runs)
    if recording:
        st.iframe(
            page(recording, theme=str(st.context.theme.type or "auto")), height=HEIGHT, alt=ALT
        )
