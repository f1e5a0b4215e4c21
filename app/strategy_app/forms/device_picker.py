"""Picks the devices of a run: a number of virtual CPUs or GPUs, or several per physical GPU."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from typing import Any

import streamlit as st

from strategy_app.forms.field_errors import Bind, kept_in_address
from strategy_app.widgets.text import as_markdown
from strategy_core.planning import strategy_catalog
from strategy_core.planning.device_plan import EMULATED_CORES
from strategy_core.planning.inventory import Inventory
from strategy_core.processes.import_path import module_command, with_own_code
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import MAX_DEVICES, parse_devices

_CARDS_WITHIN_S = 3.0
DEFAULT_CPUS = 4
DEFAULT_GPU_MEMORY_MB = 2048


def pick_devices(
    inventory: Inventory,
    strategy: str,
    *,
    key: str,
    applied: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Draw the picker; the fields `devices` and `gpu_memory_mb`. `applied` is a spec in force."""
    before, bind = applied or {}, kept_in_address(applied)
    if strategy_catalog.row(strategy).has_cores and inventory.count("TPU"):
        st.markdown(f":small[The {inventory.count('TPU')} cores of this machine's TPU.]")
        return {"devices": "tpu", "gpu_memory_mb": None}
    kind = _pick_kind(inventory, strategy, before, key, bind)
    count = _pick_count(inventory, strategy, kind, before, key, bind)
    if kind == "gpu":
        _show_cards()
    memory_mb = None
    if kind == "gpu" and count > inventory.count("GPU"):
        memory_mb = st.number_input(
            "Memory of each logical GPU, MB",
            min_value=64,
            value=int(before.get("gpu_memory_mb") or DEFAULT_GPU_MEMORY_MB),
            step=256,
            key=f"{key}_memory",
            help="Several logical GPUs share one GPU. NCCL does not support this, so another "
            "algorithm is used.",
            bind=bind,
        )
    return {"devices": f"{kind}:{count}", "gpu_memory_mb": memory_mb}


def _show_cards() -> None:
    """NVML's order need not be TensorFlow's, so each card has its address on the bus."""
    if states := states_of_cards():
        st.caption("  \n".join(["Cards in the order of their bus:", *map(as_markdown, states)]))


def _pick_kind(
    inventory: Inventory, strategy: str, before: Mapping[str, Any], key: str, bind: Bind
) -> str:
    if not inventory.count("GPU"):
        return "cpu"
    # The workers of a cluster on one machine would all take the same GPUs.
    is_cluster = _is_for_each_worker(strategy)
    kind: str = st.segmented_control(
        "Kind of device",
        ["cpu", "gpu"],
        default=_requested(before)[0] or ("cpu" if is_cluster else "gpu"),
        format_func=str.upper,
        required=True,
        key=f"{key}_kind{'_each' if is_cluster else ''}",
        bind=bind,
    )
    return kind


def _pick_count(
    inventory: Inventory,
    strategy: str,
    kind: str,
    before: Mapping[str, Any],
    key: str,
    bind: Bind,
) -> int:
    if _is_for_each_worker(strategy):
        return _pick_count_each(kind, before, key, bind)
    gpus = inventory.count("GPU")
    row = strategy_catalog.row(strategy)
    single, is_tpu = row.has_one_replica, row.has_cores
    usual = gpus if kind == "gpu" else EMULATED_CORES if is_tpu else DEFAULT_CPUS
    available = (
        f"{gpus} found; more logical GPUs share them."
        if kind == "gpu"
        else "They share this machine's cores."
    )
    count: int = st.number_input(
        "GPUs" if kind == "gpu" else "Virtual CPU devices",
        min_value=1,
        max_value=MAX_DEVICES,
        value=1 if single else _count_before(before) or usual,
        step=1,
        disabled=single,
        key=f"{key}_{'one' if single else 'cores' if is_tpu else 'many'}_{kind}",
        help=f"{'One emulates each TPU core.' if is_tpu else 'One replica each.'} {available}",
        bind=None if single else bind,
    )
    if single:
        st.caption(f"{row.title} uses one device.")
    return count


def _pick_count_each(kind: str, before: Mapping[str, Any], key: str, bind: Bind) -> int:
    """The devices of each worker of a cluster."""
    is_cpu = kind == "cpu"
    is_kept = _is_for_each_worker(before.get("strategy")) and _requested(before)[0] == kind
    count: int = st.number_input(
        "Virtual CPU devices of each worker" if is_cpu else "GPUs of each worker",
        min_value=1,
        max_value=MAX_DEVICES,
        value=(_requested(before)[1] if is_kept and not is_cpu else None) or 1,
        step=1,
        disabled=is_cpu,
        key=f"{key}_each_{kind}",
        help=None if is_cpu else "Workers on one machine share its GPUs.",
        bind=None if is_cpu else bind,
    )
    if is_cpu:
        st.caption("TensorFlow runs one replica per worker on CPUs: add workers for more.")
    return count


def _count_before(before: Mapping[str, Any]) -> int | None:
    """Return the number of devices in the current spec, per worker in a cluster."""
    count = _requested(before)[1]
    if count is None or not _is_for_each_worker(before.get("strategy")):
        return count
    return min(count * int(before.get("workers") or 1), MAX_DEVICES)


def _is_for_each_worker(strategy: str | None) -> bool:
    """Whether `devices` counts those of each worker."""
    row = strategy_catalog.find(strategy)
    return row is not None and row.runs_in == "several"


def _requested(spec: Mapping[str, Any]) -> tuple[str | None, int | None]:
    """Kind and count that a spec names; None where it leaves them open."""
    try:
        request = parse_devices(str(spec.get("devices", "auto")))
    except SpecError:
        return None, None
    return (request.kind if request.kind in ("cpu", "gpu") else None), request.count


@st.cache_data(ttl=15, show_spinner=False)
def states_of_cards() -> tuple[str, ...]:
    """Return the state of each card in words; none if they are not known in a few seconds.

    NVIDIA's library is asked in a child process: it may hang.
    """
    try:
        done = subprocess.run(
            module_command("strategy_core.runtime.nvml"),
            env=with_own_code(os.environ),
            capture_output=True,
            text=True,
            timeout=_CARDS_WITHIN_S,
            check=True,
        )
        return tuple(done.stdout.splitlines())
    except (OSError, subprocess.SubprocessError, ValueError):
        return ()
