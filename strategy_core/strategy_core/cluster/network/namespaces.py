"""Network namespaces of Linux: create them, enter them, bring interfaces up.

The namespaces have no names: one exists while a process is in it or holds a descriptor of it. So
nothing has to be cleaned up, even after a kill.
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

INTERFACE = "lab0"
"""A process's own interface, in its own namespace, if links are emulated."""
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_IFF_UP = 0x1


def make_private() -> bool:
    """Move this process to a new, empty network; raises OSError if that is refused.

    Without the privilege to create a network, creates it in a new user namespace in which this user
    is root. Returns whether it did so. The process must have a single thread.
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
    (own / "setgroups").write_text("deny")  # otherwise the kernel refuses a map of groups
    (own / "uid_map").write_text(f"0 {user} 1")
    (own / "gid_map").write_text(f"0 {group} 1")
    return True


def make_another() -> int:
    """Move this process to another new network. Returns a descriptor of it."""
    _unshare(CLONE_NEWNET)
    return current("net")


def current(kind: str) -> int:
    """A descriptor of this process's `net` or `user` namespace."""
    return os.open(f"/proc/thread-self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)


def enter(namespaces: Iterable[int]) -> None:
    """Enter the namespaces behind these descriptors, in order; raises OSError.

    Call it before anything else: running threads stay in their namespaces, and a process with
    several threads cannot enter a user namespace.
    """
    for descriptor in namespaces:
        _check(_libc().setns(descriptor, 0))


def enter_all(listed: str) -> None:
    """Enter the namespaces whose descriptors are listed (`5,6`), and close the descriptors."""
    descriptors = [int(number) for number in listed.split(",") if number]
    enter(descriptors)
    for descriptor in descriptors:
        os.close(descriptor)


def bring_up(interface: str) -> None:
    """Bring up an interface of this process's network; raises OSError."""
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
