"""The user's hardware for a prediction: its figures, each with its source, and their file."""

from __future__ import annotations

from typing import Any

import streamlit as st

from strategy_app.widgets.filled import default_of, fill
from strategy_app.widgets.text import as_markdown
from strategy_profiles.errors import LabError
from strategy_replay.scaling.link import (
    MOST_BYTES,
    Link,
    link_of,
    link_or_problems,
    text_of_link,
)

CHOSEN = "own hardware"
_KEY = "link_"
_FILE = "link_file"
_PROBLEM = "link_file_problem"
_ENTERED = "entered on the page"
_MOST = 1e9
_BOUND: Any = {"bind": "query-params"}


def pick_own_link() -> Link | None:
    """Draw the fields; returns the link, or None while one of them is wrong."""
    with st.container(border=True):
        st.markdown("**Your hardware**")
        fields = _Fields()
        fields.text("name", "Name", CHOSEN)
        fields.figure("bandwidth_gbps", "Bandwidth of a device, GB/s", None, 1.0,
                      "10^9 bytes per second that a device sends, and receives at the same time. "
                      "25 Gigabit Ethernet has 3.125.")  # fmt: skip
        fields.text("bandwidth_source", "Source of the bandwidth", _ENTERED)
        fields.figure("latency_us", "Latency of a message, µs", None, 1.0,
                      "Empty: not known, and counted as 0.")  # fmt: skip
        fields.text("latency_source", "Source of the latency", _ENTERED)
        fields.figure("device_times_as_fast", "Device, times as fast as the recorded one", 1.0, 0.1,
                      "How much faster it computes: the ratio of the steps on one device, or of "
                      "their FLOP/s.")  # fmt: skip
        fields.text("device_source", "Source of the device's speed", _ENTERED)
        fields.figure("num_links", "Links of a device", 1.0, 1.0,
                      "Of a mesh such as that of a TPU; the bandwidth is that of all "
                      "of them.")  # fmt: skip
        link = link_or_problems(_without_idle_sources(fields.values))
        if isinstance(link, Link):
            _offer_file(link)
        else:
            fields.show(link)
        _load_file()
    return link if isinstance(link, Link) else None


class _Fields:
    """Pairs of a figure and its source, with the problems below them."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._places: dict[str, Any] = {}
        self._row: Any = None

    def figure(self, name: str, label: str, value: float | None, step: float, help_: str) -> None:
        self._row = st.columns([2, 3])
        with self._row[0]:
            given = st.number_input(
                label, value=default_of(key := f"{_KEY}{name}", value), step=step, format="%g",
                key=key, help=help_, max_value=_MOST, placeholder="not given", **_BOUND,
            )  # fmt: skip
            self._places[name] = st.container()
        if given is not None:
            self.values[name] = given

    def text(self, name: str, label: str, value: str) -> None:
        with self._row[1] if self._row else st.container():
            key = f"{_KEY}{name}"
            given = st.text_input(label, value=default_of(key, value), key=key, **_BOUND)
            self.values[name] = (given or "").strip()
            self._places[name] = st.container()

    def show(self, problems: dict[str, str]) -> None:
        for name, problem in problems.items():
            self._places.get(name, st.container()).error(as_markdown(f"{problem}."))


def _offer_file(link: Link) -> None:
    st.download_button(
        "Save as a file",
        data=text_of_link(link),
        file_name="hardware.toml",
        mime="application/toml",
        key="link_save",
        on_click="ignore",
        help="For `strategy-lab predict --link hardware.toml`, and to load it here again.",
    )


def _load_file() -> None:
    st.file_uploader(
        "Load a file",
        type="toml",
        max_upload_size=1,
        key=_FILE,
        on_change=_fill,
        help="A TOML file as `strategy-lab predict --link` takes it.",
    )
    if problem := st.session_state.get(_PROBLEM):
        st.error(as_markdown(problem))


def _fill() -> None:
    """A callback: sets the fields before the script draws them."""
    uploaded = st.session_state.get(_FILE)
    st.session_state[_PROBLEM] = None
    if uploaded is None:
        return
    try:
        link = link_of(uploaded.getvalue()[:MOST_BYTES], uploaded.name)
    except LabError as error:
        st.session_state[_PROBLEM] = str(error)
        return
    fill(
        {
            f"{_KEY}{name}": float(value) if isinstance(value, int | float) else value
            for name, value in link.model_dump().items()
        }
    )


def _without_idle_sources(values: dict[str, Any]) -> dict[str, Any]:
    """Leave out the source of a figure that is not given."""
    idle = set()
    if "latency_us" not in values:
        idle.add("latency_source")
    if values.get("device_times_as_fast") == 1.0:
        idle.add("device_source")
    return {name: value for name, value in values.items() if name not in idle}
