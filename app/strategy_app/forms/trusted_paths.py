"""Paths of code and data that a run opens: chosen by the person at the page, never by a link alone.

The page keeps its fields in the address, so a link can fill them in, and so can a run of the runs
folder that came from elsewhere. A path counts once it was typed in this browser session or
confirmed by a click; until then Run is disabled, its shortcut included, and `require` refuses.
"""

from __future__ import annotations

import getpass

import streamlit as st

from strategy_app.server import state
from strategy_app.widgets.text import as_markdown
from strategy_core.planning.workload_catalog import available
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec

_TRUSTED = "trusted_paths"
_MAX_SHOWN = 4096
_DOES = {
    "workload": "Run executes this file as {user}",
    "data": "Run reads this with the rights of {user}",
}
_NAMES = {"workload": "workload file", "data": "data"}


def paths_of(workload: str, data: str | None) -> dict[str, str]:
    """Return the paths in a spec that are not built in, by field: `workload`, `data`."""
    is_built_in = workload in {item.name for item in available()}
    return ({} if is_built_in else {"workload": workload}) | ({"data": data} if data else {})


def waits_for_person(workload: str, data: str | None) -> bool:
    """Whether a path has to be confirmed before the run."""
    paths = paths_of(workload, data)
    return not all(is_trusted(field, path) for field, path in paths.items())


def typed(key: str, field: str) -> None:
    """The text field with this key was changed by hand (its `on_change`)."""
    trust(field, str(st.session_state[key]).strip())


def trust(field: str, path: str) -> None:
    st.session_state.setdefault(_TRUSTED, set()).add((field, path))


def is_trusted(field: str, path: str) -> bool:
    """Whether this session may open the path; nothing at all is no risk."""
    return not path or (field, path) in st.session_state.get(_TRUSTED, set())


def ask_to_trust(field: str, path: str, *, source: str = "the link that opened this page") -> None:
    """Warn of a path that is not trusted yet, with what it would do and a button to trust it."""
    if is_trusted(field, path):
        return
    does = _DOES[field].format(user=getpass.getuser())
    st.warning(
        f"The path of the {_NAMES[field]} came with {source}, not from you. {does}: "
        f"**{as_markdown(path, _MAX_SHOWN)}**"
    )
    st.button(
        f"Use this {_NAMES[field]}", key=f"confirm_{field}", on_click=trust, args=(field, path)
    )


def require(spec: RunSpec) -> None:
    """Raise SpecError for a path that the person has not confirmed, or that this lab forbids."""
    for field, path in paths_of(spec.workload, spec.data).items():
        if why := state.lab().access.why_no_own_code:
            raise SpecError(why, field=field)
        if not is_trusted(field, path):
            raise SpecError(
                f"The path of the {_NAMES[field]} came with a link and is not confirmed: {path}",
                field=field,
            )
