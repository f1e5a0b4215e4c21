"""A real delay inside a replica's step: one slider per replica, in milliseconds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

MAX_SLIDERS = 16
MAX_MS = 100


def pick_delays(
    num_replicas: int,
    *,
    key: str,
    applied: Iterable[Mapping[str, Any]] = (),
    moved: str = "",
) -> list[dict[str, Any]]:
    """Draw a slider per replica; the field `inject`. `applied` is what they show at first.

    The session key `moved`, where named, becomes True once somebody moved a slider.
    """
    before = {int(delay.get("replica", 0)): float(delay.get("ms", 0)) for delay in applied}
    delays = []
    for replica in range(min(num_replicas, MAX_SLIDERS)):
        before_ms = before.get(replica, 0.0)
        ms = st.slider(
            f"Replica {replica}",
            0,
            max(MAX_MS, int(before_ms)),
            int(before_ms),
            step=5,
            format="%d ms",
            key=f"{key}_delay_{replica}",
            on_change=_note,
            args=(moved,),
        )
        if ms:
            delays.append({"kind": "delay", "replica": replica, "ms": float(ms), "worker": 0})
    if num_replicas > MAX_SLIDERS:
        st.caption(f"The first {MAX_SLIDERS} replicas can be delayed from here.")
    return delays


def _note(moved: str) -> None:
    if moved:
        st.session_state[moved] = True
