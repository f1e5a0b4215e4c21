"""How weights are cut into parts over parameter servers: TensorFlow's partitioners, on the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import streamlit as st

from strategy_app.forms.field_errors import FieldErrors, kept_in_address
from strategy_core.planning import strategy_catalog
from strategy_profiles.spec.run_spec import ParameterServerOptions

FIELD = ParameterServerOptions.model_fields
PARTITIONERS: tuple[str, ...] = get_args(FIELD["partitioner"].annotation)
SAYS = {
    "none": "Not split: each on one server",
    "fixed": "A fixed number of shards",
    "min-size": "Shards of a minimum size",
    "max-size": "Shards of a maximum size",
}
WITH_PARTS = ("fixed", "min-size")
WITH_BYTES = ("min-size", "max-size")


def pick_partition(
    strategy: str,
    field_errors: FieldErrors,
    *,
    key: str,
    applied: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Draw the picker for a run with parameter servers; returns the field `parameter_server`."""
    usual = ParameterServerOptions().model_dump()
    before = usual | {name: value for name, value in (applied or {}).items() if name in usual}
    if not strategy_catalog.row(strategy).has_servers:
        field_errors.below("parameter_server")
        return before | {"partitioner": "none"}
    bind = kept_in_address(applied)
    partitioner = st.selectbox(
        "Weights on the servers",
        PARTITIONERS,
        index=PARTITIONERS.index(before["partitioner"]),
        format_func=SAYS.__getitem__,
        key=f"{key}_partitioner",
        help="Splits each weight along its first axis over several servers, so that no server "
        "holds all of a large weight. These are TensorFlow's partitioners.",
        bind=bind,
    )
    field_errors.below("parameter_server.partitioner")
    picked = before | {"partitioner": partitioner}
    if partitioner in WITH_PARTS:
        picked["parts"] = st.number_input(
            "Parts of a weight" if partitioner == "fixed" else "Parts of a weight, at most",
            min_value=0,
            max_value=256,
            value=before["parts"],
            step=1,
            key=f"{key}_parts",
            help="0: as many as there are parameter servers.",
            bind=bind,
        )
        field_errors.below("parameter_server.parts")
    if partitioner in WITH_BYTES:
        picked["part_bytes"] = st.number_input(
            "Bytes per shard",
            min_value=1,
            value=before["part_bytes"],
            step=65_536,
            key=f"{key}_part_bytes",
            bind=bind,
        )
        field_errors.below("parameter_server.part_bytes")
    field_errors.below("parameter_server")
    return picked
