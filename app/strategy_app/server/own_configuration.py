"""Keeps what configures Streamlit elsewhere away from the lab's server.

Streamlit reads `.streamlit/config.toml` in the home and the working folder, and variables of its
own. A working folder may be a stranger's: it could move the page, let other origins in, serve its
files, or keep the server from starting. All options of the lab are in `asgi_app.server_options`.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from types import TracebackType
from typing import Self

_PREFIX = "STREAMLIT_"
_HOMES = ("HOME", "USERPROFILE")


class OwnConfiguration:
    """While it is entered, the home and the working folder are empty, until `leave`.

    For all of this process: no other thread may use either meanwhile.
    """

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        for name in [name for name in os.environ if name.startswith(_PREFIX)]:
            del os.environ[name]
        empty = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="strategy-lab-"))
        self._stack.enter_context(contextlib.chdir(empty))
        homes = {name: os.environ.get(name) for name in _HOMES}
        os.environ.update(dict.fromkeys(_HOMES, empty))
        self._stack.callback(_restore, homes)
        return self

    def leave(self) -> None:
        """Go back; call this once Streamlit has read its options. A second call does nothing."""
        self._stack.close()

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.leave()


def _restore(homes: dict[str, str | None]) -> None:
    for name, value in homes.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value
