"""A real delay inside a replica's step: one slider per replica, in milliseconds.

A slider counts replicas over the whole run; the field `inject` counts them within each worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import streamlit as st

from strategy_core.planning import strategy_catalog
from strategy_core.planning.spec_rules import replicas_of
from strategy_lab.profiles.user_input.text import whole_or_none

MAX_SLIDERS = 16
MAX_MS = 100

Place = tuple[int, int]
"""A worker's number, and the number of a replica within that worker."""
OnMove = Callable[[str, Place], None]
"""Called when a user moves a slider, with the slider's session key and its replica's place."""


def pick_delays(
    num_replicas: int,
    *,
    key: str,
    strategy: str,
    num_workers: int = 1,
    shown_ms: Mapping[Place, float] | None = None,
    on_move: OnMove | None = None,
) -> list[dict[str, Any]]:
    """Draw one slider per replica, and return their values as the spec's field `inject`.

    `shown_ms` sets the sliders: replicas it does not name are set to 0. Without it each slider
    keeps the value that the user gave it. `key` distinguishes several groups of sliders on a page.
    Only the first `MAX_SLIDERS` replicas have a slider.
    """
    per_worker = max(1, num_replicas // num_workers)
    process = "Host" if strategy_catalog.row(strategy).has_cores else "Worker"
    delays = []
    for replica in range(min(num_replicas, MAX_SLIDERS)):
        place = divmod(replica, per_worker)
        slider = f"{key}_delay_{replica}"
        wanted_ms = int(shown_ms.get(place, 0)) if shown_ms is not None else 0
        # Streamlit takes a slider's value from the session, and warns if it gets one besides.
        if shown_ms is not None and st.session_state.get(slider) != wanted_ms:
            st.session_state[slider] = wanted_ms
        ms = st.slider(
            f"{process} {place[0]} / replica {replica}"
            if num_workers > 1
            else f"Replica {replica}",
            0,
            max(MAX_MS, wanted_ms),  # a run from the command line may have a longer delay
            step=5,
            format="%d ms",
            key=slider,
            on_change=on_move,
            args=(slider, place),
        )
        if ms:
            delays.append(_delay(place, ms))
    if num_replicas > MAX_SLIDERS:
        st.caption(f"Only the first {MAX_SLIDERS} replicas can be delayed here.")
    return delays


def by_place(delays: Iterable[Mapping[str, Any]]) -> dict[Place, float]:
    """The delays of the field `inject`, in ms, by place."""
    return {
        (int(delay.get("worker", 0)), int(delay.get("replica", 0))): float(delay.get("ms", 0))
        for delay in delays
    }


def as_field(ms_by_place: Mapping[Place, float]) -> list[dict[str, Any]]:
    """The inverse of `by_place`: the field `inject`, in order of place, without delays of 0."""
    return [_delay(place, ms) for place, ms in sorted(ms_by_place.items()) if ms]


def num_replicas(spec: Mapping[str, Any]) -> int:
    """The number of replicas in a run; 1 if only the machine's inventory determines it."""
    count = whole_or_none(str(spec["devices"]).rpartition(":")[2])
    cores: int = (spec.get("tpu") or {}).get("cores_per_replica", 1)
    row = strategy_catalog.row(spec["strategy"])
    return replicas_of(row, count, int(spec.get("workers") or 1), cores) or 1


def _delay(place: Place, ms: float) -> dict[str, Any]:
    worker, replica = place
    return {"kind": "delay", "replica": replica, "ms": float(ms), "worker": worker}
