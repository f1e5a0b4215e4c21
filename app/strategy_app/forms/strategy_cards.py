"""The strategies as cards: what each does, what it needs, and why one cannot run here."""

from __future__ import annotations

import streamlit as st

from strategy_core.planning.inventory import Inventory
from strategy_core.planning.strategy_catalog import Offer, offers
from strategy_profiles.spec.run_spec import RunSpec

CHOSEN = "strategy"
"""Session key and query parameter of the chosen strategy."""
DEFAULT: str = RunSpec.model_fields["strategy"].default
PER_ROW = 4


def choose_strategy(inventory: Inventory) -> str:
    """Draw the cards; the name of the chosen strategy."""
    rows = offers(inventory)
    names = {offer.row.name for offer in rows if offer.available}
    wanted = st.session_state.get(CHOSEN) or st.query_params.get(CHOSEN)
    chosen: str = wanted if wanted in names else DEFAULT
    st.session_state[CHOSEN] = chosen
    # Strategies that can run here come first.
    rows = sorted(rows, key=lambda offer: not offer.available)
    for first in range(0, len(rows), PER_ROW):
        columns = st.columns(PER_ROW)
        for column, offer in zip(columns, rows[first : first + PER_ROW], strict=False):
            with column:
                _card(offer, is_chosen=offer.row.name == chosen)
    return chosen


def _card(offer: Offer, *, is_chosen: bool) -> None:
    row = offer.row
    with st.container(border=True, height="stretch", gap="xxsmall", key=f"place_{row.name}"):
        st.button(
            row.title,
            key=f"card_{row.name}",
            type="primary" if is_chosen else "secondary",
            disabled=not offer.available,
            width="stretch",
            on_click=_choose,
            args=(row.name,),
            help=f"Needs {row.needs}.",
        )
        st.markdown(f":small[{row.explanation} [Documentation]({row.link})]")
        if offer.reason:
            st.markdown(f":small[:orange[**Not here:** {offer.reason}.]]")


def _choose(name: str) -> None:
    st.session_state[CHOSEN] = name
    st.query_params[CHOSEN] = name
