"""The knobs of a run that goes on: what they show is in force, what they change is a command."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import streamlit as st

from strategy_app.control.commands import Command, show_commands, with_answers
from strategy_app.control.controls import Controls, HostedControls
from strategy_app.control.live_delays import live_delays
from strategy_app.forms.algorithm_picker import algorithms_of, has_no_choice, say_why_fixed
from strategy_app.forms.cluster_picker import pick_cluster
from strategy_app.forms.device_picker import pick_devices
from strategy_app.forms.field_errors import FieldErrors
from strategy_app.forms.network_picker import live_changes, pick_network
from strategy_app.forms.partition_picker import pick_partition
from strategy_app.forms.xla_toggle import toggle_xla
from strategy_app.live.live_run import LiveRun
from strategy_app.server import state
from strategy_app.widgets.text import as_markdown
from strategy_core.planning import strategy_catalog, validation
from strategy_core.planning.device_plan import plan
from strategy_core.planning.reconfiguration import changed_spec, why_nothing_changes
from strategy_core.planning.strategy_catalog import offers
from strategy_profiles.errors import LabError
from strategy_profiles.reporting.spec_changes import describe
from strategy_profiles.spec.run_spec import parse_spec

_NO_KNOBS = ("inject", "reconfigure")


def live_knobs(run_id: str, live: LiveRun, handle: Controls) -> None:
    """Draw the knobs of a running run; a change is sent at once (delays) or on Apply (the rest)."""
    sent = state.lab().sent_to(live)
    # The segment of a change is written before its answer: read in the other order, an answer could
    # seem to have left the configuration before it in force.
    commands = with_answers(sent, live.news())
    applied = live.applied_spec
    if applied is None:
        st.caption("Available after the run's first event.")
        return
    if strategy_catalog.find(applied.get("strategy")) is None:
        st.caption(f"No knobs: {as_markdown(str(applied.get('strategy')))} is not installed here.")
        return
    waiting = any(command.answer is None for command in commands)
    key = _revision(run_id, applied, commands)
    field_errors = FieldErrors()
    st.markdown("#### Change the running run")
    is_here = not isinstance(handle, HostedControls)
    wanted = (
        _knobs(applied, key, field_errors)
        if is_here
        else _knobs_of_hosts(applied, key, field_errors)
    )
    changes = _checked(applied, wanted, live, field_errors, is_here=is_here)
    in_force = _why_nothing_changes(applied, changes) if changes and is_here else None
    if in_force:
        changes = {}
    texts = (
        describe(applied, parse_spec(applied).with_changes(changes).to_json()) if changes else []
    )
    pressed = st.button(
        "Apply",
        type="primary" if texts else "secondary",
        width="stretch",
        key="apply_button",
        disabled=waiting,
        help="The training state is kept. The run reports when a change is applied.",
    )
    if pressed and changes and texts and _send(handle, changes, texts, sent):
        st.rerun()
    if waiting:
        st.caption("The run has not answered the last command yet.")
    if in_force:
        st.caption(f"Nothing to apply: {as_markdown(in_force)}.")
    for text in texts:
        st.markdown(f":small[{as_markdown(text, 120)}]")
    live_delays(applied, handle, sent, is_waiting=waiting)
    show_commands(commands)


def _send(
    handle: Controls, changes: Mapping[str, Any], texts: list[str], sent: dict[int, str]
) -> bool:
    """Send a change. If the run's folder takes none, show the error and return False."""
    try:
        sent[handle.reconfigure(changes)] = ", ".join(texts)
    except LabError as error:
        st.error(as_markdown(error))
        return False
    return True


def _revision(run_id: str, applied: Mapping[str, Any], commands: list[Command]) -> str:
    """Changes whenever the knobs must show again what is in force: applied, or rejected.

    A delay does not change it, so that a knob keeps a value that the user has not applied yet.
    """
    knobs = {name: value for name, value in applied.items() if name not in _NO_KNOBS}
    rejected = sum(command.is_rejected for command in commands)
    return f"live_{run_id}_{zlib.crc32(json.dumps(knobs, sort_keys=True).encode()):08x}_{rejected}"


def _knobs_of_hosts(
    applied: Mapping[str, Any], key: str, field_errors: FieldErrors
) -> dict[str, Any]:
    """What the processes of a run can change that have a launcher on each host."""
    st.caption(
        "The run is on several hosts, which can change batch, delays and captures together. "
        "For any other change stop it and restart it there from a checkpoint."
    )
    return _batch(applied, key, field_errors) | _capture(applied, key, field_errors)


def _batch(applied: Mapping[str, Any], key: str, field_errors: FieldErrors) -> dict[str, Any]:
    batch = st.number_input(
        "Global batch size",
        min_value=1,
        value=int(applied.get("global_batch_size", 1)),
        step=32,
        key=f"{key}_batch",
    )
    field_errors.below("global_batch_size", f"{key}_batch")
    return {"global_batch_size": batch}


def _capture(applied: Mapping[str, Any], key: str, field_errors: FieldErrors) -> dict[str, Any]:
    every = st.toggle(
        "Capture every step in full",
        value=bool((applied.get("capture") or {}).get("every_step")),
        key=f"{key}_every",
    )
    field_errors.below("")
    return {"capture.every_step": every}


def _knobs(applied: Mapping[str, Any], key: str, field_errors: FieldErrors) -> dict[str, Any]:
    inventory = state.lab().inventory() or state.HOST_ONLY
    titles = {offer.row.name: offer.row.title for offer in offers(inventory) if offer.available}
    names = list(titles)
    before = str(applied.get("strategy"))
    strategy = st.selectbox(
        "Strategy",
        names,
        index=names.index(before) if before in names else 0,
        format_func=titles.__getitem__,
        key=f"{key}_strategy",
    )
    field_errors.below("strategy")
    processes = pick_cluster(strategy, field_errors, key=f"{key}_cluster", applied=applied)
    cut = pick_partition(
        strategy,
        field_errors,
        key=f"{key}_partition",
        applied=applied.get("parameter_server") or {},
    )
    network = pick_network(
        strategy,
        field_errors,
        key=f"{key}_network",
        num_workers=processes["workers"],
        applied=applied.get("network") or {},
    )
    devices = pick_devices(inventory, strategy, key=f"{key}_devices", applied=applied)
    field_errors.below("devices")
    batch = _batch(applied, key, field_errors)
    choices = algorithms_of(strategy)
    in_force = applied.get("cross_device_ops", "auto")
    ops = st.selectbox(
        "Cross-device algorithm",
        choices,
        index=choices.index(in_force) if in_force in choices else 0,
        key=f"{key}_ops_{len(choices)}",
        disabled=has_no_choice(strategy),
    )
    say_why_fixed(strategy)
    field_errors.below("cross_device_ops")
    xla = toggle_xla(strategy, field_errors, key=f"{key}_xla", applied=bool(applied.get("xla")))
    capture = _capture(applied, key, field_errors)
    return {
        "strategy": strategy,
        **processes,
        **{f"parameter_server.{name}": value for name, value in cut.items()},
        **live_changes(network),
        **devices,
        **batch,
        "cross_device_ops": ops,
        "xla": xla,
        **capture,
        # Each strategy packs gradients in its own way: what was asked of another has no meaning.
        **({} if strategy == before else {"num_packs": 1, "bytes_per_pack": 0}),
    }


def _checked(
    applied: Mapping[str, Any],
    wanted: Mapping[str, Any],
    live: LiveRun,
    field_errors: FieldErrors,
    *,
    is_here: bool,
) -> dict[str, Any] | None:
    """Return the changes if they give a valid spec; otherwise show the error and return None."""
    try:
        before = parse_spec(applied)
        document = before.to_json()
        changes = {
            path: value for path, value in wanted.items() if _value_at(document, path) != value
        }
        if changes:
            after = changed_spec(before, changes, live.last_step or 0)
            if after.inject != before.inject:  # a delay ends with its replica
                changes["inject"] = after.to_json()["inject"]
            # What another host's devices can do, that host says.
            validation.check(after, state.lab().inventory() if is_here else None)
    except LabError as error:
        field_errors.show(error)
        return None
    return changes


def _why_nothing_changes(applied: Mapping[str, Any], changes: Mapping[str, Any]) -> str | None:
    inventory = state.lab().inventory()
    if inventory is None:
        return None  # the worker says it
    before = parse_spec(applied)
    after = before.with_changes(changes)
    return why_nothing_changes(before, plan(before, inventory), after, plan(after, inventory))


def _value_at(document: Mapping[str, Any], path: str) -> Any:
    value: Any = document
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
