"""What a value of an argument is, which says how a wrong one is met."""

from __future__ import annotations

TO_READ = "what is there is read"
"""Whatever is there instead of what is wanted is refused."""
TO_WRITE = "something is written there"
"""Whatever is there is refused, or a file is replaced as asked."""
TEXT = "a text of the lab's own form"
NAME = "a name that is looked up"
ADDRESS = "an address or a host"
PROGRAM = "the program's own"

SPEC = {
    "spec": (TO_READ, ".yaml"),
    "--devices": (TEXT, ""),
    "--workload": (TO_READ, ".py"),
    "--data": (TO_READ, ".npz"),
    "--set": (TEXT, ""),
    "--inject": (TEXT, ""),
    "--reconfigure": (TEXT, ""),
}
"""Of a verb that takes a RunSpec."""
