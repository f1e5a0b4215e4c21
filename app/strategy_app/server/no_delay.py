"""Has the server send small answers at once (`TCP_NODELAY`).

asyncio turns Nagle's algorithm off for sockets of protocol `IPPROTO_TCP`. Streamlit makes its
listening socket with protocol 0 and gives no access to it, so asyncio leaves its connections alone:
an answer's head goes out, and its body waits until the browser acknowledges the head, which Linux
delays by 40 ms. That was 40 ms for each file of a page.
"""

from __future__ import annotations

import os
import socket

import psutil


def send_at_once(port: int) -> int:
    """Set the option on this process's sockets that listen on `port`; connections inherit it.

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
