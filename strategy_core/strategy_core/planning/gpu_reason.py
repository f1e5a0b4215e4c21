"""Why TensorFlow sees no GPU, in its own words: it writes them to stderr, and goes on without."""

from __future__ import annotations

import re

_PREFIX = re.compile(r"^(?:[IWEF]\d{4} [\d:.]+ +\d+ |[\d\-]+ [\d:.]+: [IWEF] )?\S+\.cc:\d+\] ?")
_SAID = (
    "Cannot dlopen some GPU libraries",
    "failed call to cuInit",
    "Could not find cuda drivers",
    "not built with CUDA kernel binaries",
)
"""The most telling one first."""
LOG_ALL = {"TF_CPP_MIN_LOG_LEVEL": "0"}
"""A process that asks for the reason must not have silenced it."""


def why_no_gpu(stderr: str) -> str | None:
    """Return TensorFlow's own line on GPUs that it cannot use; None if it wrote none."""
    lines = [line.strip() for line in stderr.splitlines()]
    for words in _SAID:
        for line in lines:
            if words in line:
                return _PREFIX.sub("", line)[:400]
    return None
