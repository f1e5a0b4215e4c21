"""A new sweep: what is trained, which fields vary, and how much it may spend."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import streamlit as st

from strategy_app.forms.field_errors import FieldErrors
from strategy_app.forms.workload_picker import pick_workload
from strategy_app.widgets.filled import default_of, fill
from strategy_core.planning import strategy_catalog
from strategy_core.planning.inventory import Inventory
from strategy_core.planning.strategy_catalog import offers
from strategy_profiles.reporting.glossary import TERMS
from strategy_profiles.spec.run_spec import CROSS_DEVICE_OPS, RunSpec, parse_spec
from strategy_profiles.user_input.text import whole_or_none
from strategy_sweep.axes import Axes, default_axes, fields_of
from strategy_sweep.contest import MOST_ROUNDS
from strategy_sweep.record import Budget

_MOST_DEVICES = 16
_BATCHES = (32, 64, 128, 256, 512, 1024, 2048)
_PACKS = (0, 1, 2, 4, 8)
_LOOPS = {"custom": "Custom training loop", "fit": "Keras fit"}


@dataclass(frozen=True)
class SweepRequest:
    """What the form asks for."""

    document: dict[str, Any]
    """Fields of the spec that do not vary."""
    axes: Axes
    budget: Budget

    def base(self) -> RunSpec:
        """The spec that the others are compared with; raises SpecError."""
        return parse_spec(self.document)


def pick_axes(inventory: Inventory, field_errors: FieldErrors) -> SweepRequest:
    """Draw the form."""
    usual = default_axes(RunSpec(), inventory)
    left, middle, right = st.columns(3, gap="large")
    with left:
        st.markdown("## What is trained")
        document = pick_workload(field_errors)
        field_errors.below("devices")
    with middle:
        st.markdown("## What varies")
        axes = _varied(inventory, usual)
        for field in (*axes, "strategy"):
            field_errors.below(field)
    with right:
        st.markdown("## Budget")
        budget = _budget()
    if axes["global_batch_size"]:
        document["global_batch_size"] = axes["global_batch_size"][0]
    if len(axes["devices"]) == 1:  # otherwise the default's own number would be one more
        document |= fields_of(RunSpec(), {"devices": axes["devices"][0]}, inventory)
    return SweepRequest(
        document, {field: values for field, values in axes.items() if values}, budget
    )


def fit_or_loop(inventory: Inventory) -> None:
    """Fill the form with the recipe: one model by both loops (a button's callback)."""
    recipe = {
        "sweep_strategy": [RunSpec().strategy],
        "sweep_devices": [_devices_of_their_own(inventory)],
        "sweep_batch": [RunSpec().global_batch_size],
        "sweep_algorithm": ["auto"],
        "sweep_packs": [1],
        "sweep_loop": list(_LOOPS),
        "sweep_xla": [False],
    }
    fill(recipe)


def _devices_of_their_own(inventory: Inventory) -> int:
    """The most replicas, two at least, that share no CPU core: those would hide what loops cost."""
    most = max(inventory.count("GPU") or os.cpu_count() or 1, 2)
    counts: list[int] = default_axes(RunSpec(), inventory)["devices"]
    return max(number for number in counts if number <= most)


def _varied(inventory: Inventory, usual: Axes) -> Axes:
    rows = [offer.row for offer in offers(inventory) if offer.available]
    strategies = st.multiselect(
        "Strategies",
        [row.name for row in rows],
        default=default_of("sweep_strategy", usual["strategy"]),
        format_func=lambda name: strategy_catalog.row(name).title,
        key="sweep_strategy",
    )
    counts = [number for number in (1, 2, 4, 8, _MOST_DEVICES) if number <= _most(inventory)]
    devices = st.multiselect(
        "Replicas",
        counts,
        default=default_of("sweep_devices", usual["devices"]),
        key="sweep_devices",
        help="Each replica takes a device, or a worker if the strategy uses several processes.",
    )
    batches = st.multiselect(
        "Global batch sizes",
        _BATCHES,
        default=default_of("sweep_batch", usual["global_batch_size"]),
        key="sweep_batch",
        accept_new_options=True,
        help="Choose, or type others. Of different batches the throughput is compared, not the "
        "step time.",
    )
    batches = [whole_or_none(str(typed)) or typed for typed in batches]
    algorithms = st.multiselect(
        "Cross-device algorithms",
        CROSS_DEVICE_OPS,
        default=default_of("sweep_algorithm", ["auto"]),
        key="sweep_algorithm",
    )
    packs = st.multiselect(
        "Gradient packs",
        _PACKS,
        default=default_of("sweep_packs", [1]),
        key="sweep_packs",
        help="Applies to nccl and hierarchical-copy. 0: each gradient is reduced separately.",
    )
    loops = st.multiselect(
        "Loops",
        list(_LOOPS),
        default=default_of("sweep_loop", ["custom"]),
        format_func=_LOOPS.__getitem__,
        key="sweep_loop",
    )
    compiled = st.multiselect(
        "XLA",
        [False, True],
        default=default_of("sweep_xla", [False]),
        format_func={False: "off", True: "on"}.__getitem__,
        key="sweep_xla",
        help=TERMS["XLA"],
    )
    axes: Axes = {"strategy": strategies, "devices": devices, "global_batch_size": batches}
    # A field with its default alone would only make every label longer.
    if algorithms != ["auto"]:
        axes["cross_device_ops"] = algorithms
    if packs != [1]:
        axes["num_packs"] = packs
    if loops != ["custom"]:
        axes["loop"] = loops
    if compiled != [False]:
        axes["xla"] = compiled
    return axes


def _most(inventory: Inventory) -> int:
    return inventory.count("GPU") or _MOST_DEVICES


def _budget() -> Budget:
    usual = Budget()
    length_s = st.number_input(
        "Length of a run, s",
        min_value=0.5,
        max_value=120.0,
        value=usual.length_s,
        step=1.0,
        key="sweep_seconds",
        help="Length of the steps, without the start of the process.",
    )
    rounds = st.number_input(
        "Most runs of a configuration",
        min_value=1,
        max_value=MOST_ROUNDS,
        value=usual.rounds,
        key="sweep_rounds",
        help="Leaders are repeated until their intervals separate, at most this often.",
    )
    minutes = st.number_input(
        "Most minutes",
        min_value=0.5,
        value=None,
        step=5.0,
        key="sweep_minutes",
        placeholder="no limit",
    )
    return Budget(length_s, rounds, None if minutes is None else minutes * 60)
