"""Error messages beside the field they are about."""

from __future__ import annotations

from typing import Any, Literal

import streamlit as st

from strategy_app.widgets.text import as_markdown
from strategy_profiles.errors import LabError, SpecError

Bind = Literal["query-params"] | None


class FieldErrors:
    """Containers for error messages, one below each field, filled once the whole spec is known."""

    def __init__(self) -> None:
        self.first: LabError | None = None
        """The first error shown; None without an error."""
        self._places: dict[str, Any] = {}
        self._keys: dict[str, str] = {}

    def below(self, field: str, key: str | None = None) -> None:
        """Reserve a container for the errors of a RunSpec field, named by its dotted path.

        `key` is the session key of its widget, which a button sets to the offered value.
        """
        self._places[field] = st.container()
        if key is not None:
            self._keys[field] = key

    def show(self, error: LabError) -> None:
        """Show the error below its field, or in the general container if the field is absent."""
        self.first = self.first or error
        field = error.field if isinstance(error, SpecError) else ""
        path = field.split(".")
        candidates = [".".join(path[:end]) for end in range(len(path), 0, -1)]
        own = next((self._places[name] for name in candidates if name in self._places), None)
        container = own or self._places.get("") or st.container()
        if isinstance(error, SpecError) and error.offers is not None and field in self._keys:
            key = self._keys[field]
            # Above the message, which may reach below the window.
            container.button(
                f"Use {error.offers}", key=f"use_{key}", on_click=_use, args=(key, error.offers)
            )
        container.error(as_markdown(error))


def kept_in_address(applied: object) -> Bind:
    """The `bind` of a field: the page's address keeps those of a new run, not those of a spec in
    force (`applied`)."""
    return "query-params" if applied is None else None


def _use(key: str, value: int) -> None:
    """A button's callback: sets the widget before the script draws it."""
    st.session_state[key] = value
