"""Which steps of a busy run the live page takes: as many a second as it can draw.

To decode a step, split it into phases and encode it for the viewers takes 70 microseconds: 20,000
steps a second would take more than a processor. Lines of other events are all taken.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

STEPS_PER_S = 2_000
MOST_AT_ONCE = 4_096
"""Steps that are taken of a run that is opened, or after a pause."""
FEWEST = 8
"""Steps that are taken of each part of a long backlog."""
NEWEST = 64
"""Steps without a gap, at the end of what is there: the key numbers are of the newest steps."""
_STEP = b'{"kind":"step",'
_CAPTURED = b'"captured":true'
_NUMBER = re.compile(rb'"step":(\d{1,18})')


class StepSampler:
    """Takes the steps that the time allows; for one thread at a time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at_s = clock()
        self._left = float(MOST_AT_ONCE)

    def choose(self, data: bytes, part: float) -> bytes:
        """Return the lines to take. `data` are whole lines, the share `part` of what was unread."""
        now_s = self._clock()
        self._left = min(MOST_AT_ONCE, self._left + (now_s - self._at_s) * STEPS_PER_S)
        self._at_s = now_s
        most = max(int(self._left * part), FEWEST if part < 1.0 else 2 * NEWEST)
        lines = data.splitlines(keepends=True)
        steps = [index for index, line in enumerate(lines) if line.startswith(_STEP)]
        dropped = _left_out(lines, steps, most)
        self._left = max(0.0, self._left - (len(steps) - len(dropped)))
        if not dropped:
            return data
        return b"".join(line for index, line in enumerate(lines) if index not in dropped)


def _left_out(lines: list[bytes], steps: list[int], most: int) -> set[int]:
    """The places of the lines that are left out of those of steps, so that about `most` stay.

    Steps are chosen by their numbers, so that those of all workers are the same ones.
    """
    if len(steps) <= most:
        return set()
    num_newest = min(NEWEST, most // 2)
    older = steps[1 : len(steps) - num_newest]  # the first one may open a segment
    stride = 2
    while len(older) > (most - num_newest) * stride:
        stride *= 2
    return {index for index in older if not _is_taken(lines[index], stride)}


def _is_taken(line: bytes, stride: int) -> bool:
    number = _NUMBER.search(line)
    return number is None or int(number[1]) % stride == 0 or _CAPTURED in line
