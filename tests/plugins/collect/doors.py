"""What tests/doors and others ask of this leaf: its verb."""

from __future__ import annotations

from tests.doors.guards import TO_READ, TO_WRITE

GUARDS = {"collect": {"folders": (TO_READ, ""), "--output": (TO_WRITE, "")}}
NEEDED = {"collect": {"folders": "RUN", "output": "NEW"}}
IMPORTED = {"collect": ""}
MAKES_A_RUN = ("collect", "RUN", "-o", "NEW")
