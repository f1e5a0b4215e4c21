"""How gradients cross the replicas: the algorithms that a strategy has, and what they are packed
into."""

from __future__ import annotations

from typing import Any

import streamlit as st

from strategy_app.forms.field_errors import FieldErrors
from strategy_core.planning import strategy_catalog
from strategy_profiles.spec.run_spec import CROSS_DEVICE_OPS


def algorithms_of(strategy: str) -> tuple[str, ...]:
    """The algorithms to choose from; if there is no choice, those of the disabled picker."""
    row = strategy_catalog.row(strategy)
    return ("auto", *row.algorithms) if row.has_choice else CROSS_DEVICE_OPS


def has_no_choice(strategy: str) -> bool:
    """Whether the strategy leaves nothing to choose."""
    return not strategy_catalog.row(strategy).has_choice


def say_why_fixed(strategy: str) -> None:
    """Below the disabled picker of a strategy that leaves nothing to choose: the reason."""
    if has_no_choice(strategy):
        row = strategy_catalog.row(strategy)
        st.caption(f"{row.title}: {row.no_choice}.")


def pick_algorithm(strategy: str, field_errors: FieldErrors) -> dict[str, Any]:
    """Draw the knobs of a new run; `cross_device_ops` and how gradients are packed."""
    choices, is_fixed = algorithms_of(strategy), has_no_choice(strategy)
    is_by_size = not is_fixed and strategy_catalog.row(strategy).packs_by_size
    ops = st.selectbox(
        "Cross-device algorithm",
        choices,
        key="cross_device_ops" if choices == CROSS_DEVICE_OPS else "collective_ops",
        disabled=is_fixed,
        help="How gradients are summed over the replicas. auto: the fastest algorithm for the "
        "devices.",
        bind="query-params",
    )
    say_why_fixed(strategy)
    field_errors.below("cross_device_ops")
    packing = _bytes(field_errors) if is_by_size else _packs(field_errors, is_fixed=is_fixed)
    return {"cross_device_ops": "auto" if is_fixed else ops} | packing


def _packs(field_errors: FieldErrors, *, is_fixed: bool) -> dict[str, int]:
    packs = st.number_input(
        "Gradient packs",
        min_value=0,
        value=1,
        step=1,
        key="num_packs",
        disabled=is_fixed,
        help="Number of packs into which gradients are combined before they are summed.",
        bind="query-params",
    )
    field_errors.below("num_packs")
    return {"num_packs": 1 if is_fixed else packs}


def _bytes(field_errors: FieldErrors) -> dict[str, int]:
    size = st.number_input(
        "Bytes per pack",
        min_value=0,
        value=0,
        step=1_000_000,
        key="bytes_per_pack",
        help="A pack of gradients is reduced when it reaches this size. 0: one pack for all.",
        bind="query-params",
    )
    field_errors.below("bytes_per_pack")
    return {"bytes_per_pack": size}
