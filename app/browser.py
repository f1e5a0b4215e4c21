"""Open the lab in the person's browser, once the server answers."""

from __future__ import annotations

import threading
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Callable

_START_TIMEOUT_S = 60.0
_POLL_S = 0.1
_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


def address(host: str, port: int) -> str:
    """The URL under which a browser on this machine finds the lab."""
    name = _ANY_ADDRESS.get(host, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def open_soon(url: str, show: Callable[[str], object] = webbrowser.open) -> threading.Thread:
    """Show `url` as soon as its server is well, beside whatever goes on; without one, never."""
    thread = threading.Thread(target=_open, args=(url, show), name="browser", daemon=True)
    thread.start()
    return thread


def _open(url: str, show: Callable[[str], object]) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=2):
                pass
        except (urllib.error.URLError, OSError):
            time.sleep(_POLL_S)
            continue
        show(url)
        return
