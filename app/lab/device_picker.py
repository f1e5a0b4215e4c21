"""Which devices a run gets: so many virtual CPUs, or the GPUs that were found."""

from __future__ import annotations

import streamlit as st

from profiles.errors import SpecError
from profiles.spec import MAX_DEVICES, SINGLE_REPLICA_STRATEGIES, parse_devices
from strategy_core.device_plan import EMULATED_CORES
from strategy_core.inventory import Inventory

DEFAULT_CPUS = 4


def pick_devices(
    inventory: Inventory, strategy: str, *, key: str, applied: str = "", bound: bool = False
) -> str:
    """Draw the picker; a `devices` text such as `cpu:4`. `applied` is what is in force."""
    if strategy == "tpu" and inventory.count("TPU"):
        st.markdown(f":small[The {inventory.count('TPU')} cores of this machine's TPU.]")
        return "tpu"
    gpus = inventory.count("GPU")
    before = _parsed(applied)
    kind = "cpu"
    if gpus:
        kind = st.segmented_control(
            "Kind of device",
            ["cpu", "gpu"],
            default=before[0] or "gpu",
            format_func=str.upper,
            required=True,
            key=f"{key}_kind",
            bind="query-params" if bound else None,
        )
    usual = EMULATED_CORES if strategy == "tpu" else DEFAULT_CPUS
    single = strategy in SINGLE_REPLICA_STRATEGIES
    most = gpus if kind == "gpu" else MAX_DEVICES
    count = st.number_input(
        "GPUs" if kind == "gpu" else "Virtual CPU devices",
        min_value=1,
        max_value=max(most, 1),
        value=1 if single else min(before[1] or usual, max(most, 1)),
        step=1,
        disabled=single,
        key=f"{key}_{'one' if single else strategy if strategy == 'tpu' else 'many'}_{kind}",
        help=("One stands for each TPU core. " if strategy == "tpu" else "One replica each. ")
        + (f"{gpus} found." if kind == "gpu" else "They share this machine's cores."),
        bind="query-params" if bound and not single else None,
    )
    return f"{kind}:{count}"


def _parsed(text: str) -> tuple[str | None, int | None]:
    try:
        request = parse_devices(text)
    except SpecError:
        return None, None
    return (request.kind if request.kind in ("cpu", "gpu") else None), request.count
