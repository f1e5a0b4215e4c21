"""The names of a profile's hosts: those that the files have, if they tell the hosts apart."""

from __future__ import annotations

import re
from collections.abc import Sequence

from strategy_profiles.errors import shortened

_PORT = re.compile(r":\d{1,5}\Z")
_MOST_CHARACTERS = 100


def readable(raw: bytes) -> str:
    """A name in a file that anyone may have made, as a short line without control characters."""
    text = raw.decode("utf-8", "replace")
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return shortened(shown, _MOST_CHARACTERS)


def distinct_names(own: Sequence[str], of_files: Sequence[str]) -> list[str]:
    """Return a name per file: its own without the port, else with it, else that of the file.

    Files of a session may have the same host: containers are often all called `localhost`.
    """
    for names in ([_PORT.sub("", name) for name in own], list(own)):
        if all(names) and len(set(names)) == len(names):
            return names
    return list(of_files)
