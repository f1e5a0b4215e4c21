"""What a run trains: a built-in workload or a file of the user's own, on its data or the user's."""

from __future__ import annotations

from typing import Any

import streamlit as st

from strategy_app.forms import trusted_paths
from strategy_app.forms.field_errors import FieldErrors
from strategy_app.server import state
from strategy_app.widgets.text import as_markdown
from strategy_core.planning.workload_catalog import available

OWN_FILE = "My own file"


def pick_workload(field_errors: FieldErrors) -> dict[str, Any]:
    """Draw the picker; the fields `workload`, `data` and `workload_options`."""
    listed = {workload.name: workload for workload in available()}
    refusal = state.lab().access.why_no_own_code
    names = [*listed] if refusal else [*listed, OWN_FILE]
    default = names.index("digits-cnn") if "digits-cnn" in listed else 0
    chosen = st.selectbox(
        "Workload",
        names,
        index=default,
        key="workload",
        help=None if refusal else "Choose one, or type the path of your own workload file.",
        accept_new_options=not refusal,
        bind="query-params",
        on_change=trusted_paths.typed,
        args=("workload", "workload"),
    )
    if chosen == OWN_FILE:
        workload = st.text_input(
            "Path of the workload file",
            key="workload_file",
            placeholder="/path/to/my_model.py",
            help="A Python file that defines build_model() and "
            "build_dataset(global_batch_size, seed).",
            bind="query-params",
            on_change=trusted_paths.typed,
            args=("workload_file", "workload"),
        ).strip()
        trusted_paths.ask_to_trust("workload", workload)
    elif chosen not in listed:  # typed into the box
        workload = chosen.strip()
        st.markdown(":small[Your own workload file.]")
        trusted_paths.ask_to_trust("workload", workload)
    else:
        workload = chosen
        st.markdown(f":small[{as_markdown(listed[chosen].description)}]")
    field_errors.below("workload")
    data = st.text_input(
        "Own data (optional)",
        key="data",
        placeholder=".npz, .csv, .parquet, .tfrecord or a folder of images",
        bind="query-params",
        on_change=trusted_paths.typed,
        args=("data", "data"),
        disabled=refusal is not None,
    ).strip()
    if refusal:
        st.caption(refusal)
    else:
        trusted_paths.ask_to_trust("data", data)
    field_errors.below("data")
    learning_rate = st.number_input(
        "Learning rate",
        min_value=0.0,
        value=None,
        step=0.0005,
        format="%g",
        key="learning_rate",
        placeholder="the workload's own",
        bind="query-params",
    )
    field_errors.below("workload_options")
    options = {} if learning_rate is None else {"learning_rate": learning_rate}
    return {"workload": workload, "data": data or None, "workload_options": options}
