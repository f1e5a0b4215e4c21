"""The one line of an error that tells its cause.

TensorFlow puts the place in its graph before it and, where several ops failed, their number:

    2 root error(s) found.
      (0) UNAVAILABLE: {{function_node ...}} failed to connect to all addresses; last error: ...

Keras says first "Exception encountered when calling Dense.call().", and then, in a terminal's bold,
what went wrong.
"""

from __future__ import annotations

import re

from strategy_core.private_tf import error_texts

_BOLD = re.compile(r"\x1b\[\d*m")


def cause(error: BaseException) -> str:
    """The first line that says what is wrong."""
    for line in str(error).splitlines():
        said = _BOLD.sub("", line).strip()
        if said and not error_texts.NOT_THE_CAUSE.match(said):
            without_place = error_texts.PLACE_BEFORE.sub("", said, count=1)
            return error_texts.NODE_AT_END.sub("", without_place) or said
    return "no message"
