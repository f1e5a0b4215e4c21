"""A real delay inside a replica's step: one slider per replica, in milliseconds.

A slider counts replicas over the whole run; the field `inject` counts them within each worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from strategy_core.planning import strategy_catalog
from strategy_core.planning.spec_rules import replicas_of
from strategy_profiles.user_input.text import whole_or_none

MAX_SLIDERS = 16
MAX_MS = 100
STEP_MS = 5

Place = tuple[int, int]
"""A worker's number, and the number of a replica within that worker."""


def places(num_replicas: int, num_workers: int) -> list[Place]:
    """The place of each replica."""
    per_worker = max(1, num_replicas // num_workers)
    return [divmod(replica, per_worker) for replica in range(num_replicas)]


def labelled(places: list[Place], strategy: str, num_workers: int) -> list[tuple[Place, str]]:
    """The places that have a slider, each with the slider's label."""
    process = "Host" if strategy_catalog.row(strategy).has_cores else "Worker"
    return [
        (place, f"{process} {place[0]} / replica {n}" if num_workers > 1 else f"Replica {n}")
        for n, place in enumerate(places[:MAX_SLIDERS])
    ]


def say_who_has_none(num_replicas: int) -> None:
    """Say which replicas have no slider."""
    if num_replicas > MAX_SLIDERS:
        st.caption(f"Only the first {MAX_SLIDERS} replicas can be delayed here.")


def pick_delays(num_replicas: int, *, strategy: str, num_workers: int = 1) -> list[dict[str, Any]]:
    """Draw one slider per replica, and return their values as the spec's field `inject`."""
    delays = []
    rows = labelled(places(num_replicas, num_workers), strategy, num_workers)
    for replica, (place, label) in enumerate(rows):
        ms = st.slider(label, 0, MAX_MS, step=STEP_MS, format="%d ms", key=f"new_delay_{replica}")
        if ms:
            delays.append(_delay(place, ms))
    say_who_has_none(num_replicas)
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
