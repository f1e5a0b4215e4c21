"""Network namespaces of Linux, as far as a run needs them: made, entered, brought up.

A namespace here has no name: it lives as long as a process is in it or holds a descriptor of it,
and nothing is left to clean up, even after a kill.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
from collections.abc import Iterable
from pathlib import Path

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_IFF_UP = 0x1


def make_private() -> bool:
    """Leave this process's network for a new, empty one; raises OSError where that is refused.

    Without the privilege to make a network, it is made in a user namespace of its own, in which
    this user is root. Returns whether that was so. Only for a process with a single thread.
    """
    try:
        _unshare(CLONE_NEWNET)
    except PermissionError:
        pass
    else:
        return False
    user, group = os.geteuid(), os.getegid()
    try:
        _unshare(CLONE_NEWUSER | CLONE_NEWNET)
    except PermissionError as error:
        raise OSError(error.errno, "this user may make no network namespace") from error
    own = Path("/proc/self")
    (own / "setgroups").write_text("deny")  # or the kernel takes no map of groups
    (own / "uid_map").write_text(f"0 {user} 1")
    (own / "gid_map").write_text(f"0 {group} 1")
    return True


def make_another() -> int:
    """Go on into a further network; returns a descriptor of it."""
    _unshare(CLONE_NEWNET)
    return current("net")


def current(kind: str) -> int:
    """A descriptor of this process's `net` or `user` namespace."""
    return os.open(f"/proc/thread-self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)


def enter(namespaces: Iterable[int]) -> None:
    """Enter the namespaces behind these descriptors, in order; raises OSError.

    Threads that run already stay where they are, and a user namespace takes no process that has
    several: to be called first thing.
    """
    for descriptor in namespaces:
        _check(_libc().setns(descriptor, 0))


def enter_all(listed: str) -> None:
    """Enter the namespaces whose descriptors are listed (`5,6`), and let go of those."""
    descriptors = [int(number) for number in listed.split(",") if number]
    enter(descriptors)
    for descriptor in descriptors:
        os.close(descriptor)


def bring_up(interface: str) -> None:
    """Switch an interface of this process's network on; raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sH14x", interface.encode(), 0)
        (flags,) = struct.unpack_from("H", fcntl.ioctl(sock, _SIOCGIFFLAGS, request), 16)
        fcntl.ioctl(
            sock, _SIOCSIFFLAGS, struct.pack("16sH14x", interface.encode(), flags | _IFF_UP)
        )


def _unshare(flags: int) -> None:
    try:
        _check(_libc().unshare(flags))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        limit = "the system's limit of namespaces is reached (sysctl user.max_net_namespaces)"
        raise OSError(error.errno, limit) from error


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
