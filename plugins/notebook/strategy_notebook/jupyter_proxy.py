"""Entry point of jupyter-server-proxy: a tile in JupyterLab's launcher opens the lab.

Loaded by the Jupyter server, which starts a lab on the first visit of `strategy-lab/` and passes
requests on to it.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import strategy_app
from strategy_core.processes.import_path import module_command
from strategy_core.processes.running_labs import TOKEN_VARIABLE

_READY_WITHIN_S = 60.0
_ICON = Path(strategy_app.__file__).with_name("icon.svg")


def server() -> dict[str, Any]:
    """Return how jupyter-server-proxy starts a lab for the runs of Jupyter's own folder.

    It replaces `{port}`. The token is known to both servers alone: Jupyter lets its users in, and
    adds the token to their requests. Host and Origin become the lab's own. Sec-Fetch-Site stays
    as the browser sent it, and Jupyter checks the Origin of a WebSocket itself.
    """
    token = secrets.token_urlsafe(32)
    command = module_command("strategy_core")
    own = "127.0.0.1:{port}"
    return {
        "command": [*command, "ui", "--no-browser", "--port", "{port}"],
        "environment": {TOKEN_VARIABLE: token},
        "request_headers_override": {
            "Authorization": f"Bearer {token}",
            "Host": own,
            "Origin": f"http://{own}",
        },
        "timeout": _READY_WITHIN_S,
        "launcher_entry": {"title": "Strategy Lab", "icon_path": str(_ICON), "category": "Other"},
    }
