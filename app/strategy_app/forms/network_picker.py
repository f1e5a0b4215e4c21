"""A slow network between the processes of a cluster on this machine, where the system allows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from strategy_app.forms.field_errors import FieldErrors, kept_in_address
from strategy_app.widgets.text import as_markdown
from strategy_core.cluster.network.isolation import why_not_contained, why_not_emulated
from strategy_core.planning import strategy_catalog
from strategy_profiles.spec.run_spec import NetworkOptions

NOTHING: dict[str, Any] = {"rate_mbit": None, "delay_ms": None, "interfaces": False}


def pick_network(
    strategy: str,
    field_errors: FieldErrors,
    *,
    key: str,
    num_workers: int = 1,
    applied: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Draw the picker for a run of several processes; returns fields of `network`."""
    if not strategy_catalog.row(strategy).is_cluster(num_workers):
        return dict(NOTHING)
    before = NOTHING | {k: v for k, v in (applied or {}).items() if k in NOTHING}
    bind = kept_in_address(applied)
    _warn_of_open_ports()
    with st.expander("Network between the processes"):
        refused = why_not_emulated()
        if refused is not None:
            st.caption(f"Links cannot be emulated here: {as_markdown(refused)}.")
            field_errors.below("network")
            return dict(NOTHING)
        rate = st.number_input(
            "Link rate (Mbit/s)",
            min_value=1.0,
            max_value=100_000.0,
            value=before["rate_mbit"],
            step=100.0,
            key=f"{key}_rate",
            placeholder="no limit",
            help="Maximum send and receive rate of each process. 1,000 is gigabit Ethernet.",
            bind=bind,
        )
        delay = st.number_input(
            "Link delay, one way (ms)",
            min_value=0.01,
            max_value=10_000.0,
            value=before["delay_ms"],
            step=1.0,
            key=f"{key}_delay",
            placeholder="none",
            help="Time that a packet needs: about 0.05 in a rack, 1 in a region, 50 across an "
            "ocean.",
            bind=bind,
        )
        interfaces = st.toggle(
            "Count bytes on the wire",
            value=bool(before["interfaces"]),
            key=f"{key}_interfaces",
            help="Gives each process its own network interface, whose counters include "
            "Ethernet, IP and TCP headers. A link rate or delay implies this.",
            bind=bind,
        )
        field_errors.below("network")
    return {"rate_mbit": rate, "delay_ms": delay, "interfaces": interfaces}


def _warn_of_open_ports() -> None:
    """Warn of open ports if the processes of the run cannot have a network of their own.

    Emulated links need such a network and more, so if they work there is nothing to warn of.
    """
    if why_not_emulated() is None:
        return
    if (why := why_not_contained()) is not None:
        st.warning(
            "While this run goes on, every user of this machine, and every machine that "
            "reaches it, can run code as you: TensorFlow's servers do not authenticate "
            "clients and listen on every interface, and the run cannot be isolated in its own "
            f"network here ({as_markdown(why)}). Close the ports that the run's notes list "
            "with a firewall."
        )


def live_changes(picked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the picker returned with dotted paths of a RunSpec as keys."""
    usual = NetworkOptions().model_dump()
    return {f"network.{name}": picked.get(name, usual[name]) for name in NOTHING}
