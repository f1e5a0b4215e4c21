"""Lets the server hold many connections open.

uvicorn waits without a limit for the end of a request. A program without the token, of any user of
the machine, could hold as many connections as this process may open files, usually 1,024. No one
else could then connect, asyncio would fill the log with 1.5 million characters a second, and runs
that the lab launched would lack files, too.
"""

from __future__ import annotations

import contextlib
import resource

MANY = 65_536
"""Enough for all ports that one address has for its connections to another one."""


def allow_many_open_files() -> int:
    """Raise this process's limit of open files as far as it may. Returns the limit in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MANY if hard == resource.RLIM_INFINITY else min(MANY, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return soft
    with contextlib.suppress(OSError, ValueError):  # macOS has a further limit of its own
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
