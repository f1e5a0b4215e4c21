"""Asks a process that gives no sign of life for its stack, by a signal.

Python's fault handler writes the stacks of all threads from within the signal handler, without the
interpreter. It works while TensorFlow waits and holds the GIL. A message through the pipe, or a
Python signal handler, would not: both need the GIL. A process that was stopped (SIGSTOP) does not
answer.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path

from strategy_core.private_tf.frame_names import is_file_of_tensorflow, is_input_file

_STDERR = 2
_THREAD = re.compile(r"^(?:Current thread|Thread) 0x", re.MULTILINE)
_FRAME = re.compile(r'File "(.+)", line (\d+) in (\S+)')
_OF_OTHERS = re.compile(
    r"/(?:site-packages|dist-packages|lib/python[\d.]+|tensorflow/python|keras/src)/|^<"
)
"""Files of libraries. The launcher, which has no TensorFlow, cannot ask where it was imported."""
_OUTERMOST = re.compile(r" in (?:<module>|_run_module_as_main)$|^  \.\.\.$", re.MULTILINE)
"""The last frame of the main thread's stack, or the ellipsis of a very deep one."""
_IN_STEP = re.compile(r"/strategy_core/training/(?:custom_loop|keras_fit)\.py$")


@dataclass(frozen=True, slots=True)
class StackSample:
    """What the main thread of a process was doing."""

    frame: str
    """Its innermost own frame: `in train_step, workload.py line 12`."""
    is_in_step: bool
    """In an op of a step, where a worker waits for its peers."""
    is_in_input: bool
    is_in_tensorflow: bool = False
    """In an op outside a step, too: the first weights are broadcast, a change is agreed on."""

    @property
    def may_wait_for_others(self) -> bool:
        """Whether workers wait for peers at this place, in a step or outside of one."""
        return (self.is_in_step or self.is_in_tensorflow) and not self.is_in_input

    @property
    def is_waiting_for_peers(self) -> bool:
        return self.is_in_step and not self.is_in_input

    def __str__(self) -> str:
        if self.is_in_input:
            return "it waits for its input"
        return "it waits inside its step" if self.is_in_step else f"it is {self.frame}"


def answer_from_now_on() -> None:
    """Worker: answer the signal on stderr, which is the worker's log by then."""
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, file=_STDERR, all_threads=True)


def request_stacks(pid: int) -> None:
    """Launcher: ask for the stacks, which the worker writes to its log."""
    if hasattr(signal, "SIGUSR1"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGUSR1)


def is_whole(stderr: str) -> bool:
    """Whether a worker's log holds a complete answer, which ends with the main thread."""
    blocks = list(_THREAD.finditer(stderr))
    return bool(blocks) and _OUTERMOST.search(stderr, blocks[-1].start()) is not None


def read(stderr: str) -> StackSample | None:
    """The last answer in a worker's log; None if the worker has not answered."""
    blocks = list(_THREAD.finditer(stderr))
    if not blocks:
        return None
    # The main thread is the last one to be written.
    frames = _FRAME.findall(stderr, blocks[-1].start())
    if not frames:
        return None
    files = [file for file, _, _ in frames]
    own = next((f for f in frames if not _OF_OTHERS.search(f[0])), frames[0])
    return StackSample(
        f"in {own[2]}, {Path(own[0]).name} line {own[1]}",
        is_in_step=any(map(_IN_STEP.search, files)) and bool(_OF_OTHERS.search(files[0])),
        is_in_input=any(map(is_input_file, files)),
        is_in_tensorflow=is_file_of_tensorflow(files[0]),
    )
