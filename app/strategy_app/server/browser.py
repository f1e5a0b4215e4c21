"""Open the lab in the person's browser, once the server answers.

A browser is started with the address on its command line, which every user of the machine can read
(`ps`). So it gets the path of a file that only this user may read, which redirects to the lab.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Callable
from html import escape
from pathlib import Path

_START_TIMEOUT_S = 60.0
_POLL_S = 0.1
_KEEP_S = 120.0
"""A browser that starts slowly still finds the file; afterwards the printed address is there."""


class Opening:
    """Opens `url` in a browser once, after the server at `address` answers its health check."""

    def __init__(
        self, address: str, url: str, show: Callable[[str], object] = webbrowser.open
    ) -> None:
        self._address, self._url, self._show = address, url, show
        self._entered = threading.Event()
        self._folder: Path | None = None
        self._thread = threading.Thread(target=self._open, name="browser", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def entered(self) -> None:
        """Note that a user has entered with the token, so that the file is not needed any more."""
        self._entered.set()

    def close(self) -> None:
        """Remove the file, opened or not."""
        self._entered.set()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _open(self) -> None:
        if not self._wait_until_well():
            return
        if self._url == self._address:
            self._show(self._url)  # no token, nothing to hide
            return
        self._folder = Path(tempfile.mkdtemp(prefix="strategy-lab-", dir=_runtime_folder()))
        self._show(redirect_file(self._folder, self._url).as_uri())
        self._entered.wait(_KEEP_S)
        self.close()

    def _wait_until_well(self) -> bool:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline and not self._entered.is_set():
            try:
                with urllib.request.urlopen(f"{self._address}/healthz", timeout=2):
                    return True
            except (urllib.error.URLError, OSError):
                time.sleep(_POLL_S)
        return False


def redirect_file(folder: Path, url: str) -> Path:
    """Write a page to `folder` that redirects to `url`, readable by its owner only."""
    path = folder / "open.html"
    text = (
        '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0;url={escape(url)}">'
        f'<title>Strategy Lab</title><a href="{escape(url)}">Open Strategy Lab</a>'
    )
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    return path


def _runtime_folder() -> str | None:
    """Return the user's private runtime folder; None if the system has none."""
    folder = os.environ.get("XDG_RUNTIME_DIR")
    return folder if folder and os.access(folder, os.W_OK) else None
