"""Before a run: strategy, devices, workload and knobs, checked while they are chosen; then Run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from strategy_app.forms import trusted_paths
from strategy_app.forms.added_fields import added_fields
from strategy_app.forms.algorithm_picker import pick_algorithm
from strategy_app.forms.cluster_picker import pick_cluster, pick_timeouts
from strategy_app.forms.delay_picker import num_replicas, pick_delays
from strategy_app.forms.device_picker import pick_devices
from strategy_app.forms.field_errors import FieldErrors
from strategy_app.forms.network_picker import pick_network
from strategy_app.forms.partition_picker import pick_partition
from strategy_app.forms.strategy_cards import choose_strategy
from strategy_app.forms.workload_picker import pick_workload
from strategy_app.forms.xla_toggle import toggle_xla
from strategy_app.server import state
from strategy_app.widgets.copy_as import offer_copy
from strategy_app.widgets.picker import LAST_RUN
from strategy_app.widgets.places import show_head
from strategy_app.widgets.text import as_markdown
from strategy_core.launcher.runs_lock import trains_in
from strategy_core.planning import strategy_catalog, validation
from strategy_core.planning.validation import CheckedSpec
from strategy_profiles.errors import LabError, SpecError
from strategy_profiles.registered import registered
from strategy_profiles.reporting.glossary import TERMS
from strategy_profiles.run.new_name import in_folder, new_name
from strategy_profiles.spec.run_spec import Capture, RunSpec, parse_spec

UNTIL_STOPPED = "until stopped"
CONFIGURING = "configuring"
"""Session key: whether a new run is being configured, even if another one ran last."""


def configure_page() -> None:
    """Draw the whole configuration; on Run, launch it and go over to watching it."""
    lab = state.lab()
    inventory = lab.inventory()
    field_errors = FieldErrors()
    # Filled last: `first_style` keeps its place.
    with st.container(key="form_head"):
        head, action = st.columns([2, 1], vertical_alignment="top")
    with head:
        show_head("lab")
    note = head.container()
    field_errors.below("")
    devices = inventory or state.HOST_ONLY
    strategy = choose_strategy(devices)
    row = strategy_catalog.row(strategy)
    field_errors.below("strategy")
    place_of_fields = st.container()
    left, middle, right = st.columns(3, gap="large")
    with left:
        st.markdown("## Devices and data")
        document = pick_cluster(strategy, field_errors, key="cluster")
        document["parameter_server"] = pick_partition(strategy, field_errors, key="partition")
        document |= pick_devices(devices, strategy, key="devices")
        field_errors.below("devices")
        field_errors.below("gpu_memory_mb")
        document |= pick_workload(field_errors) | {"strategy": strategy}
    if fields := added_fields(strategy):
        with place_of_fields:
            document |= fields.pick(document, field_errors)
    with middle:
        st.markdown("## Training")
        document |= _training(strategy, field_errors)
    with right:
        st.markdown("## Communication and recording")
        document |= pick_algorithm(strategy, field_errors)
        document["capture"] = _capture()
        field_errors.below("capture")
        num_workers = document["workers"]
        if row.is_cluster(num_workers):
            document["network"] = pick_network(
                strategy, field_errors, key="network", num_workers=num_workers
            )
            document["cluster"] = pick_timeouts(strategy, field_errors)
        with st.expander("Slow a replica down"):
            document["inject"] = pick_delays(
                num_replicas(document), strategy=strategy, num_workers=num_workers
            )
        field_errors.below("inject")
    checked = _checked(document, field_errors)
    waits = trusted_paths.waits_for_person(document["workload"], document["data"])
    with action:
        copying, running = st.columns(2)
        pressed = running.button(
            "Run",
            type="secondary" if field_errors.first else "primary",
            width="stretch",
            key="run_button",
            shortcut="Ctrl+Enter",
            disabled=waits,
        )
        if checked is not None:
            with copying:
                offer_copy(checked.spec, width="stretch")
    with note:
        _say(waits, field_errors.first, is_looking=inventory is None)
        if inventory is None:
            _wait_for_devices()
    if pressed and checked is not None:
        try:
            launch(checked)
        except LabError as error:
            field_errors.show(error)


def _training(strategy: str, field_errors: FieldErrors) -> dict[str, Any]:
    batch = st.number_input(
        "Global batch size",
        min_value=1,
        value=256,
        step=32,
        key="batch",
        help=TERMS["global batch"],
        bind="query-params",
    )
    field_errors.below("global_batch_size", "batch")
    steps = st.number_input(
        "Steps",
        min_value=1,
        value=None,
        step=100,
        key="steps",
        placeholder=UNTIL_STOPPED,
        help=f"{TERMS['step']} Without a number the run goes on until you stop it, or until its "
        f"folder holds {Capture().limit_mb / 1000:g} GB.",
        bind="query-params",
    )
    field_errors.below("steps")
    seed = st.number_input("Seed", min_value=0, value=0, step=1, key="seed", bind="query-params")
    field_errors.below("seed")
    loop = st.segmented_control(
        "Loop",
        ["custom", "fit"],
        default="custom",
        required=True,
        key="loop",
        format_func={"custom": "Custom training loop", "fit": "Keras fit"}.__getitem__,
        help="The same workload, stepped by strategy.run or by model.fit.",
        bind="query-params",
    )
    field_errors.below("loop")
    xla = toggle_xla(strategy, field_errors, key="xla")
    return {"global_batch_size": batch, "steps": steps, "seed": seed, "loop": loop, "xla": xla}


def _capture() -> dict[str, Any]:
    with st.expander("Capture"):
        every = st.toggle(
            "Capture every step in full",
            key="every_step",
            help=TERMS["capture window"],
            bind="query-params",
        )
        budget = st.slider(
            "Overhead budget of captures, %",
            0.1,
            10.0,
            1.0,
            step=0.1,
            key="budget",
            disabled=every,
            help="Share of the time that full captures may take. Capture windows are spaced "
            "to stay within it.",
            bind="query-params",
        )
        if every:
            st.caption("Without effect while every step is captured.")
        marks = st.toggle(
            "Timestamps on every step",
            value=True,
            key="marks",
            help=TERMS["marks"],
            bind="query-params",
        )
        keep = st.toggle(
            "Keep raw files for TensorBoard",
            value=True,
            key="keep_xplane",
            help=TERMS["XPlane"],
            bind="query-params",
        )
        contexts = st.toggle(
            "Trace contexts",
            key="contexts",
            disabled=not registered("tracers"),
            help="Records every switch between replica and cross-replica context while a "
            "segment's first step is traced. The Contexts page shows them.",
            bind="query-params",
        )
    return {
        "contexts": contexts,
        "every_step": every,
        "overhead_budget": round(budget / 100, 6),
        "marks": marks,
        "keep_xplane": keep,
    }


def _checked(document: dict[str, Any], field_errors: FieldErrors) -> CheckedSpec | None:
    """Return the checked spec; if it is invalid, show the error at its field and return None."""
    try:
        if not document["workload"]:
            raise SpecError("The path of the workload file is empty", field="workload")
        return validation.check(parse_spec(document), state.lab().inventory())
    except LabError as error:
        field_errors.show(error)
        return None


def launch(request: RunSpec | CheckedSpec, checkpoint: Path | None = None) -> None:
    """Start a run under a new name and go over to watching it; raises LabError."""
    checked = (
        request if isinstance(request, CheckedSpec) else CheckedSpec(request, knows_devices=False)
    )
    # The page offers delays while a run goes on.
    spec = checked.spec.model_copy(update={"live_delays": True})
    trusted_paths.require(spec)
    lab = state.lab()
    handle = in_folder(
        None,
        lambda: lab.runs / new_name(lab.runs, spec),
        lambda folder: lab.launch(replace(checked, spec=spec), folder.name, checkpoint),
    )
    name = st.session_state[LAST_RUN] = handle.folder.name
    st.session_state.pop(CONFIGURING, None)
    st.query_params["run"] = name
    st.rerun()


def new_run() -> None:
    """Go over to the configuration (a button's callback)."""
    st.session_state[CONFIGURING] = True
    st.query_params.pop("run", None)


def _say(waits: bool, error: LabError | None, *, is_looking: bool) -> None:
    """Why Run does nothing, below the title, where two lines are reserved: nothing moves."""
    if waits:
        st.caption("Confirm the path from the link first (below).")
    elif error is not None:
        st.caption(f":material/error: Cannot run yet: {as_markdown(error)}")
    elif busy := trains_in(state.lab().runs):
        said = "trains in this folder now. Run starts nothing before it has ended."
        st.caption(f":material/hourglass: {as_markdown(busy)} {said}")
    elif is_looking:
        st.caption("TensorFlow is looking for GPUs and TPUs. The CPU can be used already.")
    else:
        st.caption(
            "Choose a strategy and devices, press **Run**, and watch every replica. A program of "
            "your own, imported profiles and examples: **All runs**."
        )


@st.fragment(run_every=0.5)
def _wait_for_devices() -> None:
    if state.lab().inventory() is not None:
        st.rerun()
