"""Extracts the one line of an error message that names the cause.

TensorFlow puts the location in its graph before it and, if several ops failed, their number:

    2 root error(s) found.
      (0) UNAVAILABLE: {{function_node ...}} failed to connect to all addresses; last error: ...

Keras first prints "Exception encountered when calling Dense.call().", and then the cause, with
terminal escape codes for bold.
"""

from __future__ import annotations

import re

from strategy_core.private_tf import error_texts

_BOLD = re.compile(r"\x1b\[\d*m")


def type_and_cause(error: BaseException) -> str:
    """Type of an error, and the line of its message that names the cause, if it has a message."""
    kind = type(error).__name__
    return f"{kind}: {cause(error)}" if str(error).strip() else kind


def cause(error: BaseException) -> str:
    """The first line that names the cause, without graph locations; "no message" without any."""
    only_place = ""
    for line in error_texts.USER_CODE.sub("", str(error)).splitlines():
        said = _BOLD.sub("", line).strip()
        if said and not error_texts.NOT_THE_CAUSE.match(said):
            without_place = error_texts.PLACE_BEFORE.sub("", said, count=1)
            if without_node := error_texts.NODE_AT_END.sub("", without_place):
                return without_node
            only_place = only_place or said
    return only_place or "no message"
