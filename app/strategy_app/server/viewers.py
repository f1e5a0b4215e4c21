"""The browser sessions that look at the lab, as Streamlit numbers them."""

from __future__ import annotations

from streamlit.runtime import Runtime, RuntimeState
from streamlit.runtime.scriptrunner import get_script_run_ctx


def current_viewer() -> str:
    """The session whose page is being drawn; "" outside of one."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context else ""


def has_viewers() -> bool:
    """Whether any page is open."""
    connected = RuntimeState.ONE_OR_MORE_SESSIONS_CONNECTED
    return Runtime.exists() and Runtime.instance().state is connected


def is_connected(viewer: str) -> bool:
    """Whether the page of a session is open: its connection ends with its tab."""
    return not Runtime.exists() or bool(Runtime.instance().is_active_session(viewer))
