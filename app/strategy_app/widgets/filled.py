"""Fields that a callback sets before the script draws them.

Streamlit logs a warning, with a stack, of a field that has both a default and a value that was set
so. In the run of the script after `fill`, these fields have no default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import streamlit as st

_NEW = "newly_filled"
Default = TypeVar("Default")


def fill(values: Mapping[str, Any]) -> None:
    """Set fields by their keys. Call it in a callback."""
    for key, value in values.items():
        st.session_state[key] = value
    st.session_state[_NEW] = {*st.session_state.get(_NEW, ()), *values}


def default_of(key: str, default: Default) -> Default | None:
    """Return the default of a field; None if it has just been set. Call it once for each run."""
    new: set[str] = st.session_state.get(_NEW, set())
    if key not in new:
        return default
    new.discard(key)
    return None
