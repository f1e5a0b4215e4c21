"""How tests and benchmarks come into a lab that they start: one token, known to both sides."""

from __future__ import annotations

import os
import sys
from typing import Any
from urllib.parse import urlsplit

from strategy_app.access.policy import Access, cookie_name
from strategy_core.processes.running_labs import TOKEN_VARIABLE

TOKEN = "a-token-of-the-tests-alone"
HEADERS = {"authorization": f"Bearer {TOKEN}"}
"""For requests by scripts, and for the handshake of a WebSocket."""


def environment(**more: str) -> dict[str, str]:
    """That of a lab whose token is `TOKEN`."""
    return os.environ | {TOKEN_VARIABLE: TOKEN} | more


def with_token(url: str) -> str:
    """The address as `strategy-lab` prints it: the lab takes the token out of it."""
    parts = urlsplit(url)
    query = f"{parts.query}&token={TOKEN}" if parts.query else f"token={TOKEN}"
    return parts._replace(path=parts.path or "/", query=query).geturl()


def cookie_value(token: str | None) -> str:
    """The cookie of who runs this program, at an address of this machine."""
    uid = os.getuid() if sys.platform == "linux" else None
    return Access(token=token).cookie_value(uid)


def cookie(url: str) -> dict[str, Any]:
    """What a browser keeps that was let in, for Playwright's `add_cookies`."""
    parts = urlsplit(url)
    return {
        "name": cookie_name(parts.netloc),
        "value": cookie_value(TOKEN),
        "url": f"{parts.scheme}://{parts.netloc}",
        "httpOnly": True,
        "sameSite": "Strict",
    }
