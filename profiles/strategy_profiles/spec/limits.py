"""Upper limits of what a run folder may hold: readers leave out what is beyond, and say so.

Each is far above what a run of this program writes, and low enough that a damaged file cannot make
a reader use all memory or overflow 64-bit arithmetic.
"""

from __future__ import annotations

MOST_WORKERS = 4096
MOST_REPLICAS = 65_536
MOST_SEGMENTS = 1_000_000
MOST_TAGS = 1000
MOST_ITEMS = 1_000_000
"""Limit for the entries of any list in an event."""
LARGEST = 2**62 - 1
"""Limit for counts, sizes in bytes and times in ns: the difference of two fits into 64 bits."""
LONGEST_MS = LARGEST / 1e6
LONGEST_NAME = 4096
"""Characters of a device, tensor, op or file name."""
LONGEST_TEXT = 1_000_000
"""Characters of a message or a traceback."""
DEEPEST = 32
"""Levels of nesting in a free-form field (`spec`, `fields`)."""
LONGEST_LINE_BYTES = 16 << 20
"""Limit for a line of events."""
LARGEST_RUN_FILE_BYTES = 16 << 20
"""Limit for `run.json`."""
LONGEST_LENGTH_NS = 2**53
"""Limit for a duration in a table of a capture: 104 days, an integer that a float64 holds."""
