"""The processes of a run, where its strategy takes several: how many, and how long each is waited
for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from strategy_app.forms.field_errors import Bind, FieldErrors, kept_in_address
from strategy_core.planning import strategy_catalog
from strategy_profiles.errors import SpecError
from strategy_profiles.reporting.glossary import TERMS
from strategy_profiles.spec.run_spec import ClusterOptions, parse_devices

DEFAULT_WORKERS = 2
DEFAULT_SERVERS = 1
MOST_BY_DEFAULT = 4
"""Default number of workers: each is a process with its own TensorFlow."""
MAX_PROCESSES = 16


def pick_cluster(
    strategy: str,
    field_errors: FieldErrors,
    *,
    key: str,
    applied: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Draw the picker for strategies with several processes; returns their fields."""
    bind, applied = kept_in_address(applied), applied or {}
    row = strategy_catalog.row(strategy)
    if row.runs_in != "several":
        workers = _pick_hosts(strategy, key, applied, bind) if row.runs_in == "either" else 1
        field_errors.below("workers")
        return {"workers": workers, "parameter_servers": 0}
    workers = st.number_input(
        "Workers",
        min_value=1,
        max_value=MAX_PROCESSES,
        value=_usual_workers(applied),
        step=1,
        key=f"{key}_workers",
        help=f"{TERMS['worker']} Each needs about 0.9 GB of memory. All run on this machine and "
        "communicate over gRPC.",
        bind=bind,
    )
    field_errors.below("workers")
    if not row.has_servers:
        return {"workers": workers, "parameter_servers": 0}
    servers = st.number_input(
        "Parameter servers",
        min_value=1,
        max_value=MAX_PROCESSES,
        value=int(applied.get("parameter_servers") or DEFAULT_SERVERS),
        step=1,
        key=f"{key}_servers",
        help=f"{TERMS['parameter server']} A coordinator process is added.",
        bind=bind,
    )
    field_errors.below("parameter_servers")
    return {"workers": workers, "parameter_servers": servers}


def _pick_hosts(strategy: str, key: str, applied: Mapping[str, Any], bind: Bind) -> int:
    is_kept = applied.get("strategy") == strategy
    count: int = st.number_input(
        "Hosts",
        min_value=1,
        max_value=MAX_PROCESSES,
        value=int(applied.get("workers") or 1) if is_kept else 1,
        step=1,
        key=f"{key}_hosts",
        help="Number of worker processes (a pod) among which the TPU's cores are divided, "
        "each with its own input pipeline. A coordinator process is added. 1: all cores in "
        "one process.",
        bind=bind,
    )
    return count


def pick_timeouts(strategy: str, field_errors: FieldErrors) -> dict[str, Any]:
    """How long processes wait for each other, and what follows a loss; the field `cluster`."""
    usual = ClusterOptions()
    with st.expander("Process failures"):
        start_s = st.number_input(
            "Startup timeout (s)",
            min_value=1.0,
            value=usual.start_timeout_s,
            step=10.0,
            key="start_timeout",
            bind="query-params",
        )
        heartbeat_s = st.number_input(
            "Heartbeat timeout (s)",
            min_value=1.0,
            value=usual.heartbeat_timeout_s,
            step=1.0,
            key="heartbeat",
            help="TensorFlow's coordination service declares a process lost when it receives "
            "no heartbeat for this long.",
            bind="query-params",
        )
        # Processes with a coordinator exchange no collectives.
        has_peers = not strategy_catalog.row(strategy).has_coordinator
        collective_s = _pick_collective_timeout() if has_peers else None
        every = st.number_input(
            "Checkpoint interval (steps)",
            min_value=0,
            value=usual.checkpoint_every_steps,
            step=50,
            key="checkpoint_every",
            help="How often the leader saves the training state. 0: only when a change needs it.",
            bind="query-params",
        )
        restarts = st.number_input(
            "Maximum restarts",
            min_value=0,
            max_value=100,
            value=usual.restarts,
            step=1,
            key="restarts",
            help="How often the run restarts from its last checkpoint after it loses a "
            "process that it needs. 0: the run ends.",
            bind="query-params",
        )
        field_errors.below("cluster")
    return {
        "start_timeout_s": start_s,
        "heartbeat_timeout_s": heartbeat_s,
        "collective_timeout_s": collective_s,
        "checkpoint_every_steps": every,
        "restarts": restarts,
    }


def _pick_collective_timeout() -> float | None:
    timeout_s: float | None = st.number_input(
        "Collective timeout (s)",
        min_value=0.1,
        value=None,
        step=1.0,
        key="collective_timeout",
        placeholder="none: it waits as long as its peers run",
        bind="query-params",
    )
    return timeout_s


def _usual_workers(applied: Mapping[str, Any]) -> int:
    """The run's number of workers; if it has one process, its number of replicas."""
    row = strategy_catalog.find(applied.get("strategy"))
    if row is not None and row.runs_in == "several":
        return int(applied.get("workers") or DEFAULT_WORKERS)
    try:
        count = parse_devices(str(applied.get("devices", "auto"))).count
    except SpecError:
        count = None
    return min(max(count or 0, DEFAULT_WORKERS), MOST_BY_DEFAULT)
