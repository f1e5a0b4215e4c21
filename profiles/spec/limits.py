"""Upper limits of what a run folder may hold: readers leave out what is beyond, and say so.

Each is far above what a run of this program writes, and low enough that a damaged file cannot make
a reader use all memory or overflow 64-bit arithmetic.
"""

from __future__ import annotations

MOST_WORKERS = 4096
MOST_REPLICAS = 65_536
MOST_SEGMENTS = 1_000_000
MOST_ITEMS = 1_000_000
"""In any list of an event."""
LARGEST = 2**62 - 1
"""Of counts, sizes in bytes and times in ns: the difference of two still fits into 64 bits."""
LONGEST_MS = LARGEST / 1e6
LONGEST_NAME = 4096
"""Characters of a device, tensor, op or file name."""
LONGEST_TEXT = 1_000_000
"""Characters of a message or a traceback."""
DEEPEST = 32
"""Levels of nesting in a free-form field (`spec`, `fields`)."""
LONGEST_LINE_BYTES = 16 << 20
"""Of a line of events."""
LARGEST_RUN_FILE_BYTES = 16 << 20
"""Of `run.json`."""
LONGEST_LENGTH_NS = 2**53
"""Of a duration in a table of a capture: 104 days, a whole number for a 64-bit float."""
