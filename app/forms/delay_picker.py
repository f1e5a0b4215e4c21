"""A real delay inside a replica's step: one slider per replica, in milliseconds.

A delay names a replica among those of its worker; a slider is for one of the whole run.
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
"""A worker, and a replica among its own."""
OnMove = Callable[[str, Place], None]
"""Called with a slider's key in the session and its place when somebody has moved it."""


def pick_delays(
    num_replicas: int,
    *,
    key: str,
    strategy: str,
    num_workers: int = 1,
    shown_ms: Mapping[Place, float] | None = None,
    on_move: OnMove | None = None,
) -> list[dict[str, Any]]:
    """Draw a slider per replica; what they show, as the field `inject`.

    `shown_ms` is what they are to show, 0 where it says nothing; without it they show what they
    were last left at.
    """
    per_worker = max(1, num_replicas // num_workers)
    process = "Host" if strategy_catalog.row(strategy).has_cores else "Worker"
    delays = []
    for replica in range(min(num_replicas, MAX_SLIDERS)):
        place = divmod(replica, per_worker)
        slider = f"{key}_delay_{replica}"
        wanted_ms = int(shown_ms.get(place, 0)) if shown_ms is not None else 0
        if shown_ms is not None and st.session_state.get(slider) != wanted_ms:
            st.session_state[slider] = wanted_ms
        ms = st.slider(
            f"{process} {place[0]} / replica {replica}"
            if num_workers > 1
            else f"Replica {replica}",
            0,
            max(MAX_MS, wanted_ms),
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
    """Milliseconds by place, of the field `inject`."""
    return {
        (int(delay.get("worker", 0)), int(delay.get("replica", 0))): float(delay.get("ms", 0))
        for delay in delays
    }


def as_field(ms_by_place: Mapping[Place, float]) -> list[dict[str, Any]]:
    """The field `inject`, in order of the replicas."""
    return [_delay(place, ms) for place, ms in sorted(ms_by_place.items()) if ms]


def num_replicas(spec: Mapping[str, Any]) -> int:
    """Replicas of a run as far as its fields tell; 1 where they do not."""
    count = whole_or_none(str(spec["devices"]).rpartition(":")[2])
    cores: int = (spec.get("tpu") or {}).get("cores_per_replica", 1)
    row = strategy_catalog.row(spec["strategy"])
    return replicas_of(row, count, int(spec.get("workers") or 1), cores) or 1


def _delay(place: Place, ms: float) -> dict[str, Any]:
    worker, replica = place
    return {"kind": "delay", "replica": replica, "ms": float(ms), "worker": worker}
