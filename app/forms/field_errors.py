"""Error messages beside the field they are about."""

from __future__ import annotations

from typing import Any

import streamlit as st

from strategy_lab.app.widgets.text import as_markdown
from strategy_lab.profiles.errors import LabError, SpecError


class Complaints:
    """Places for messages, one below each field, to be filled once the whole spec is known."""

    def __init__(self) -> None:
        self._places: dict[str, Any] = {}

    def below(self, field: str) -> None:
        """Reserve the place for what is wrong with a RunSpec field (its dotted path)."""
        self._places[field] = st.empty()

    def show(self, error: LabError) -> None:
        """Say it at its field; where the field is not on the page, at the general place."""
        field = error.field if isinstance(error, SpecError) else ""
        path = field.split(".")
        candidates = [".".join(path[:end]) for end in range(len(path), 0, -1)]
        found = next((self._places[name] for name in candidates if name in self._places), None)
        place = found or self._places.get("") or st.empty()
        place.error(as_markdown(error))
