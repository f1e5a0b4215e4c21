"""Has the server report each connection's own address, not one that a header names.

uvicorn replaces a connection's address by that of `X-Forwarded-For` if the connection comes from
127.0.0.1 or ::1: there it expects a proxy. But every user of this machine connects from there, and
the gate asks the kernel for the owner of that address (`strategy_app.access.peer`). So another user
with the lab's cookie could name one of the owner's connections. Streamlit starts uvicorn and passes
no option for this, so uvicorn's environment variable is the only way to set it.
"""

from __future__ import annotations

from collections.abc import MutableMapping

TRUSTED_PROXIES = "FORWARDED_ALLOW_IPS"
"""uvicorn's list of addresses whose headers it believes; by default those of this machine."""


def trust_no_proxy(environment: MutableMapping[str, str]) -> None:
    """Set uvicorn's list of trusted proxies to the empty one. Call before the server is made."""
    environment[TRUSTED_PROXIES] = ""
