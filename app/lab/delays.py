"""A real delay inside a replica's step: one slider per replica, in milliseconds.

A delay names a replica among those of its worker; a slider is for one of the whole run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from profiles.spec import POD_STRATEGY, SINGLE_REPLICA_STRATEGIES

MAX_SLIDERS = 16
MAX_MS = 100


def pick_delays(
    num_replicas: int,
    *,
    key: str,
    num_workers: int = 1,
    applied: Iterable[Mapping[str, Any]] = (),
    moved: str = "",
) -> list[dict[str, Any]]:
    """Draw a slider per replica; the field `inject`. `applied` is what they show at first.

    The session key `moved`, where named, becomes True once somebody moved a slider.
    """
    before = {
        (int(delay.get("worker", 0)), int(delay.get("replica", 0))): float(delay.get("ms", 0))
        for delay in applied
    }
    per_worker = max(1, num_replicas // num_workers)
    delays = []
    for replica in range(min(num_replicas, MAX_SLIDERS)):
        worker, local = divmod(replica, per_worker)
        before_ms = before.get((worker, local), 0.0)
        ms = st.slider(
            f"Worker {worker} / replica {replica}" if num_workers > 1 else f"Replica {replica}",
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
            delays.append({"kind": "delay", "replica": local, "ms": float(ms), "worker": worker})
    if num_replicas > MAX_SLIDERS:
        st.caption(f"The first {MAX_SLIDERS} replicas can be delayed from here.")
    return delays


def num_replicas(spec: Mapping[str, Any]) -> int:
    """Replicas of a run as far as its fields tell; 1 where they do not."""
    if spec["strategy"] in SINGLE_REPLICA_STRATEGIES:
        return 1
    count = str(spec["devices"]).rpartition(":")[2]
    cores: int = (spec.get("tpu") or {}).get("cores_per_replica", 1)
    per_worker = max(1, int(count) // cores) if count.isdigit() else 1
    # A TPU's devices are those of all its hosts.
    return per_worker * (1 if spec["strategy"] == POD_STRATEGY else int(spec.get("workers") or 1))


def _note(moved: str) -> None:
    if moved:
        st.session_state[moved] = True
