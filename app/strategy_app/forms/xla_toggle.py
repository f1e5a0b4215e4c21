"""Whether XLA compiles the step, for a new run and for a running one."""

from __future__ import annotations

import streamlit as st

from strategy_app.forms.field_errors import FieldErrors
from strategy_core.planning import strategy_catalog
from strategy_profiles.reporting.glossary import TERMS


def toggle_xla(
    strategy: str, field_errors: FieldErrors, *, key: str, value: bool = False, bound: bool = False
) -> bool:
    """Draw the toggle; disabled, with the reason below, under a strategy that does not take XLA.

    `bound` keeps it in the page's address.
    """
    row = strategy_catalog.row(strategy)
    wanted = st.toggle(
        "Compile with XLA",
        value=value,
        key=key,
        disabled=bool(row.no_xla),
        help=TERMS["XLA"],
        bind="query-params" if bound else None,
    )
    if row.no_xla:
        st.caption(f"{row.title}: {row.no_xla}.")
    field_errors.below("xla")
    return wanted and not row.no_xla
