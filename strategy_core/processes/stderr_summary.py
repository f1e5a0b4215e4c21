"""Finds the few lines that say why, in everything a dying process writes to stderr.

A crash in C++ leaves hundreds of lines: its own last line, a native stack, Python's stack of every
thread, the list of every extension module. An exception leaves a traceback.
"""

from __future__ import annotations

import re

_NOISE = re.compile(r"Extension modules:|\*\*\* |@ +0x|[IW]\d{4} |\s*$")
_FATAL = re.compile(r"Fatal Python error")
_FRAME = re.compile(r'File "(.+)", line (\d+)')
_CURRENT = re.compile(r"Current thread")
_NUM_LINES = 3
_MAX_LINE = 300


def stderr_summary(stderr: str) -> str:
    """One line: the last output, the error and its place; empty if there was no output."""
    lines = [line.strip() for line in stderr.splitlines()]
    lines = [line for line in lines if not _NOISE.match(line)]
    fatal = next((i for i in reversed(range(len(lines))) if _FATAL.match(lines[i])), None)
    if fatal is None:
        return "; ".join(line[:_MAX_LINE] for line in lines[-_NUM_LINES:])
    found = lines[max(0, fatal - 1) : fatal + 1]
    place = _place(lines[fatal + 1 :])
    return "; ".join(line[:_MAX_LINE] for line in (*found, *place))


def _place(dump: list[str]) -> list[str]:
    """Return the crashed thread's innermost frame, out of Python's dump of all threads, if any."""
    current = next((i for i, line in enumerate(dump) if _CURRENT.match(line)), None)
    if current is None:
        return []
    frames = filter(None, map(_FRAME.search, dump[current + 1 :]))
    return [f"in {frame[1]}, line {frame[2]}" for frame in frames][:1]
