"""The one line of an error that tells its cause.

TensorFlow puts the place in its graph before it and, where several ops failed, their number:

    2 root error(s) found.
      (0) UNAVAILABLE: {{function_node ...}} failed to connect to all addresses; last error: ...

Keras says first "Exception encountered when calling Dense.call().", and then, in a terminal's bold,
what went wrong.
"""

from __future__ import annotations

import re

_NOT_IT = re.compile(
    r"Graph execution error:|Exception encountered when calling |Detected at node|"
    r'File "|<stack traces unavailable>|Original stack trace|\d+ root error\(s\) found'
)
_BOLD = re.compile(r"\x1b\[\d*m")
_NODE = re.compile(r" for '\{\{node .*?\}\} = .*?'(?= |$)| \[Op:\w+\](?: name:.*)?$")
_BEFORE_IT = re.compile(
    r"(?:\(\d+\) [A-Z_]+: +)?(?:\{\{.*?\}\} +)*"
    r"(?:Error in user-defined function passed to \S+ transformation with iterator: \S+: )?"
)


def cause(error: BaseException) -> str:
    """The first line that says what is wrong."""
    for line in str(error).splitlines():
        said = _BOLD.sub("", line).strip()
        if said and not _NOT_IT.match(said):
            return _NODE.sub("", _BEFORE_IT.sub("", said, count=1)) or said
    return "no message"
