"""Which values of a program the lab reads, and in which thread.

To read a tensor of a DTensor mesh runs functions on the mesh: beside a call of the program they
cancel each other, and the program ends or loses a step. To read one of another process takes a
call, which waits for a process that may be lost. On a device of TensorFlow's own in this process a
read copies a number. Even that is done in a thread of the lab's: the program's threads would wait
for their devices, their `GradientTape` would watch the variable that is read, and errors of
asynchronous work would be raised in the lab's code.
"""

from __future__ import annotations

import math
import os
import queue
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf

from strategy_core.private_tf import tracing as private_tf
from strategy_core.recorder.program import own_task

_MOST_S = 5.0
"""A read that takes longer has no result, and is the last one."""
_NOT_PLAIN = ("CUSTOM", "COMPOSITE")
"""Types of devices that are several: DTensor's meshes, packed variables."""
_UNREADABLE = (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError)

plain_devices: set[str] = set()
"""Names of devices whose tensors the lab may read, of those that were asked for."""


def is_plain(tensor: Any) -> bool:
    """Whether a thread of the lab's may read a tensor or a variable without harm."""
    device = getattr(tensor, "device", None)
    if not isinstance(device, str) or not _is_plain_device(device):
        return False
    plain_devices.add(device)
    return True


@cache
def _is_plain_device(name: str) -> bool:
    named = tf.DeviceSpec.from_string(name)
    if named.device_type is None or named.device_type in _NOT_PLAIN:
        return False
    return named.job in (None, "localhost") or (named.job, named.task) == own_task()


def why_not_read(tensor: Any) -> str:
    """Why a tensor is not read, as the rest of a sentence."""
    device = tf.DeviceSpec.from_string(tensor.device)
    if device.device_type == "CUSTOM":
        return "it is spread over the mesh of `tf.experimental.dtensor`"
    return f"it is on {tensor.device}, which is not in this process"


def may_read_variables() -> bool:
    """Whether variables have the values that the calls so far have given them."""
    return private_tf.why_no_graphs() is None


def number_in(tensor: Any) -> float:
    """The number in a tensor; NaN if it is not one number, or was not computed."""
    try:
        value = np.asarray(tensor)
        return float(value) if value.size == 1 else math.nan
    except (*_UNREADABLE, tf.errors.OpError):
        return math.nan


def read_variable(variable: Any) -> Any:
    """The value of a variable as a NumPy array; None if it cannot be read without harm.

    Of a mirrored variable the first copy is read.
    """
    held = getattr(variable, "value", variable) if hasattr(variable, "path") else variable
    copies = getattr(held, "values", None) or (held,)
    if not may_read_variables() or not is_plain(copies[0]):
        return None
    return _aside.do(lambda: _read(copies[0]))


def snapshot(variables: Any) -> Any:
    """A function that returns the values which some variables have now, in a thread of the lab's.

    None if they cannot be read without harm.
    """
    if not may_read_variables() or not all(map(is_plain, variables)):
        return None
    tensors = _aside.do(lambda: [each.read_value() for each in variables])
    return None if tensors is None else lambda: [number_in(each) for each in tensors]


def _read(variable: Any) -> Any:
    try:
        return np.array(variable.numpy())
    except (*_UNREADABLE, tf.errors.OpError):
        return None


class _Aside:
    """A thread that does one thing at a time, while the caller waits for it."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        """Set the state before the first thread, which a forked child has as well."""
        self._pid: int | None = None
        self._is_stuck = False
        self._turn = threading.Lock()
        self._acts: queue.SimpleQueue[Callable[[], Any]] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def do(self, act: Callable[[], Any]) -> Any:
        """Return what `act` returns, or None if that takes too long."""
        if self._pid != os.getpid():
            self._begin()  # at first, and in a forked child, which has no such thread
            self._pid = os.getpid()
            threading.Thread(target=self._serve, name="strategy-lab-reads", daemon=True).start()
        with self._turn:
            if self._is_stuck:
                return None
            self._acts.put(act)
            try:
                result, error = self._done.get(timeout=_MOST_S)
            except queue.Empty:
                self._is_stuck = True
                return None
        if error is not None:
            raise error
        return result

    def _serve(self) -> None:
        acts, done = self._acts, self._done
        while True:
            act = acts.get()
            try:
                done.put((act(), None))
            except BaseException as error:
                done.put((None, error))
            del act


_aside = _Aside()
