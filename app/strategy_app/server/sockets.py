"""The server's connections: it may hold many of them open, and sends small answers at once.

uvicorn waits without a limit for the end of a request. A program without the token, of any user of
the machine, could hold as many connections as this process may open files, usually 1,024. No one
else could then connect, asyncio would fill the log with 1.5 million characters a second, and runs
that the lab launched would lack files, too.

asyncio turns Nagle's algorithm off for sockets of protocol `IPPROTO_TCP`. Streamlit makes its
listening socket with protocol 0 and gives no access to it, so asyncio leaves its connections alone:
an answer's head goes out, and its body waits until the browser acknowledges the head, which Linux
delays by 40 ms. That was 40 ms for each file of a page.
"""

from __future__ import annotations

import contextlib
import os
import resource
import socket

import psutil

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


def send_at_once(port: int) -> int:
    """Set `TCP_NODELAY` on this process's sockets that listen on `port`; connections inherit it.

    Returns the number of sockets.
    """
    listening = [
        known.fd
        for known in psutil.Process().net_connections(kind="tcp")
        if known.status == psutil.CONN_LISTEN and known.laddr.port == port and known.fd >= 0
    ]
    for fd in listening:
        with socket.socket(fileno=os.dup(fd)) as shared:  # closes the copy alone
            shared.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return len(listening)
