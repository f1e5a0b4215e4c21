"""What the system allows: networks of a run's own, emulated links, ptrace, folder, port."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from strategy_core.cluster.network.isolation import why_not_contained, why_not_emulated
from strategy_core.processes.free_port import FIRST_PORT, free_port
from strategy_doctor.check import Check, broken, missing, present
from strategy_profiles.errors import LabError

_PTRACE_SEIZE, _PTRACE_DETACH = 0x4206, 17
_LEAST_FREE_BYTES = 1 << 30


def network_checks() -> Iterator[Check]:
    """Whether a cluster on this machine gets a network of its own, and links can be emulated."""
    title = "Network namespaces"
    if why := why_not_contained():
        costs = "ports of local clusters are open to every user and machine that reaches them"
        yield missing("namespaces", title, why, costs, "Allow user namespaces, or run as root")
    else:
        yield present("namespaces", title, "a cluster on this machine has a network of its own")
    title, costs = "Emulated links", "network.rate_mbit and network.delay_ms of a run"
    if why := why_not_emulated():
        advice = "Run as root, or allow user namespaces; the tools are in the package iproute2"
        yield missing("links", title, why, costs, advice)
    else:
        yield present("links", title, "ip and tc work in a namespace")


def ptrace_check() -> Check:
    """Whether a process may trace its own children, as py-spy and gdb do."""
    if (why := why_no_ptrace()) is None:
        return present("ptrace", "ptrace", "allowed")
    costs = "py-spy and gdb on a worker; the lab's own Python stacks do not need it"
    return missing("ptrace", "ptrace", why, costs, "In a container: --cap-add SYS_PTRACE")


def why_no_ptrace() -> str | None:
    """Trace a child of this process for a moment; returns why that is refused."""
    if not sys.platform.startswith("linux"):
        return f"not checked on {sys.platform}"
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    # It reads until its stdin is closed, so it is there while it is traced, and not afterwards.
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        if libc.ptrace(_PTRACE_SEIZE, child.pid, None, None):
            return os.strerror(ctypes.get_errno())
        libc.ptrace(_PTRACE_DETACH, child.pid, None, None)
        return None
    finally:
        child.kill()
        child.communicate()


def folder_check(runs: Path) -> Check:
    """Whether runs can be written; creates no runs folder."""
    existing = next(path for path in (runs, *runs.resolve().parents) if path.exists())
    advice = "Name another folder with --runs"
    try:
        with tempfile.TemporaryFile(dir=existing):
            free = shutil.disk_usage(existing).free
    except OSError as error:
        state = f"{runs} cannot be written: {error.strerror or error}"
        return broken("runs", "Runs folder", state, advice)
    state = f"{runs} can be written, {free / 1e9:.1f} GB free"
    if free < _LEAST_FREE_BYTES:
        costs = "long runs end when the disk is full"
        return missing("runs", "Runs folder", state, costs, advice)
    return present("runs", "Runs folder", state)


def port_check() -> Check:
    try:
        return present("port", "Port", f"{free_port('127.0.0.1')} is free")
    except LabError as error:
        costs = "the page; the command line works"
        state = f"none is free from {FIRST_PORT} on"
        return missing("port", "Port", state, costs, error.advice)
