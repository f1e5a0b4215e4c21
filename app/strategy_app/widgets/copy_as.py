"""A configuration as text to copy: a command, a spec file, a Python program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import streamlit as st

from strategy_app.widgets.text import as_markdown
from strategy_core.planning.spec_text import as_command, as_python, as_yaml
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec, parse_spec

LABEL = "Copy as …"


def offer_copy(
    spec: RunSpec,
    width: Literal["content", "stretch"] = "content",
    key: str | None = None,
    label: str = LABEL,
) -> None:
    """The button; it opens the three texts, each with a button that copies it.

    Their words have one colour: on the light page, Streamlit's for a language have a contrast of
    2.6 to 3.7.
    """
    with st.popover(label, width=width, key=key):
        command, file, program = st.tabs(["Command line", "YAML", "Python"])
        command.code(as_command(spec), language=None, wrap_lines=True)
        file.code(as_yaml(spec), language=None, wrap_lines=True)
        program.code(as_python(spec), language=None, wrap_lines=True)


def offer_copy_of_recorded(document: Mapping[str, Any], label: str = LABEL) -> None:
    """The same for the spec of a run. Says why if it is not valid in this version of the lab."""
    try:
        spec = parse_spec(document)
    except SpecError as error:
        with st.popover(label):
            st.markdown(f"This run's spec is not valid in this version. {as_markdown(error)}")
        return
    offer_copy(spec, label=label)
