"""Sliders of a running run's delays, which send the viewer's moves once the hand rests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import streamlit as st

from strategy_app.components.packaged import Packaged

_delays = Packaged("delays")


class Slider(NamedTuple):
    """One slider: `place` is its stable name, `ms` the value that it shows."""

    place: str
    label: str
    ms: int


class Moves(NamedTuple):
    """Moves that were collected: new values in ms by place, and when they were sent.

    `at` is the browser's clock in ms. It rises with every sending: moves that are not newer than
    those before have been seen already.
    """

    at: float
    ms_by_place: dict[str, float]


def moves(key: str) -> Moves | None:
    """Return the last moves of the sliders with this key; known before the sliders are drawn."""
    moved = (st.session_state.get(key) or {}).get("moved") or {}
    at, values = moved.get("at"), moved.get("ms")
    if not isinstance(at, int | float) or not isinstance(values, dict):
        return None
    known = {place: float(ms) for place, ms in values.items() if isinstance(ms, int | float)}
    return Moves(float(at), known)


def delay_sliders(
    key: str, sliders: Iterable[Slider], *, heard: float, max_ms: int, step_ms: int
) -> None:
    """Draw the sliders. `heard` is the `at` of the last moves that their values include."""
    _delays(
        key=key,
        on_moved_change=lambda: None,
        data={
            "rows": [slider._asdict() for slider in sliders],
            "heard": heard,
            "max": max_ms,
            "step": step_ms,
        },
    )
