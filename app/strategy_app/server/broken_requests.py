"""Keeps tracebacks out of the log that only say that a client broke HTTP or the WebSocket protocol.

uvicorn answers most of what is not valid HTTP with 400 and one line in the log. Not all:

- A broken chunk of a body after, or just before, the answer: the answer or that 400 is then one too
  many, and h11 raises.
- A broken WebSocket frame before the handshake is complete: an assertion of uvicorn fails.
- A WebSocket message of text that is no UTF-8: uvicorn logs the exception.

asyncio closes the connection. But a program without the token could fill the log with tracebacks,
among which an operator would search for a fault of the lab.
"""

from __future__ import annotations

import logging
import re

import h11

_LOGGERS = ("uvicorn.error", "asyncio")
_ANSWERED = re.compile(r"state(=| is )(MUST_CLOSE|CLOSED|ERROR)\b")
"""In what h11 says of an event that comes after the end of a connection. What it says of our own
faults, such as a header that is not valid, has none of these."""
_OF_A_PROTOCOL = re.compile(r"Fatal error: protocol\.\w+\(\) call failed\..*<uvicorn\.", re.DOTALL)
"""asyncio's message about an exception that a protocol of uvicorn did not catch."""
_NOT_TEXT = "Invalid UTF-8 sequence received from client."


def log_as_one_line() -> None:
    """Apply to all servers of this process. Calls after the first one change nothing."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)


class _BrokenRequests(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, h11.LocalProtocolError) and _ANSWERED.search(str(error)):
            return False  # uvicorn has logged "Invalid HTTP request received."
        message = record.getMessage()
        if message == _NOT_TEXT:
            record.exc_info = None
        elif _OF_A_PROTOCOL.match(message):
            record.msg = "A connection was closed: its client broke the protocol (%s)"
            record.args = (type(error).__name__,)
            record.exc_info = None
        return True


_FILTER = _BrokenRequests()
