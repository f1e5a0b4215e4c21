"""Whether XLA compiles the step, for a new run and for a running one."""

from __future__ import annotations

import streamlit as st

from strategy_app.forms.field_errors import FieldErrors, kept_in_address
from strategy_core.planning import strategy_catalog
from strategy_profiles.reporting.glossary import TERMS


def toggle_xla(
    strategy: str, field_errors: FieldErrors, *, key: str, applied: bool | None = None
) -> bool:
    """Draw the toggle; disabled, with the reason below, under a strategy that does not take XLA.

    `applied` is the value in force; None for a new run.
    """
    row = strategy_catalog.row(strategy)
    wanted = st.toggle(
        "Compile with XLA",
        value=bool(applied),
        key=key,
        disabled=bool(row.no_xla),
        help=TERMS["XLA"],
        bind=kept_in_address(applied),
    )
    if row.no_xla:
        st.caption(f"{row.title}: {row.no_xla}.")
    field_errors.below("xla")
    return wanted and not row.no_xla
